// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "detach.hpp"

#include "store/redis/scripts/script.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

ReleaseReply read_detached(Node& node, Outcome&& outcome, std::string const& key)
{
    if (outcome.delivery != Delivery::answered)
        return undelivered(std::move(outcome));
    if (outcome.reply.is_error())
        return node.refuse(outcome.reply, key);
    auto const answer = outcome.reply.as_string();
    if (outcome.reply.is_string() && answer == "kept")
        return Released{};
    if (outcome.reply.is_string() && answer == "not owner")
        return NotOwner{};
    return nonsense(node, key);
}

} // namespace

void detach(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto const& claim = *request.claim;
    ScriptCall call;
    call.script = &scripts::detach();
    call.keys = encode_keys(*claim.range, claim.index, 1);
    call.values.add(claim.owner).add(kept_value(claim.owner));
    if (*request.keep_for > std::chrono::milliseconds{0})
        call.values.add(request.keep_for->count());
    call.not_after = request.not_after;
    run_script(
        node->route(), std::move(call),
        [node, claim = request.claim, handler = std::move(handler)](Outcome outcome) mutable {
            std::move(handler)(read_detached(*node, std::move(outcome), claim->key()));
        });
}

} // namespace tenure::redis
