// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "give_back.hpp"

#include <memory>
#include <utility>

namespace tenure::redlock
{

void give_back(
    redis::NodeBackend& node, KeyRangePtr key, std::string owner, Instant not_after, ReplyHandler<ReleaseReply> handler)
{
    auto claim = std::make_shared<Claim>();
    claim->range = std::move(key);
    claim->owner = std::move(owner);
    ReleaseRequest request;
    request.claim = std::move(claim);
    request.not_after = not_after;
    node.release(std::move(request), std::move(handler));
}

} // namespace tenure::redlock
