// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ready.hpp"

#include <memory>
#include <utility>

namespace tenure::zookeeper
{

void ready(EnsemblePtr const& ensemble, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    auto const session = ensemble->looking();
    // shared, because a ConnectedHandler is copied. The use keeps the session open until then
    auto const shared = std::make_shared<ReplyHandler<ReadyReply>>(std::move(handler));
    session->when_connected(std::move(not_after), [shared, use = session->use()](Failure const* why) {
        std::move (*shared)(why == nullptr ? ReadyReply(Ready{}) : ReadyReply(*why));
    });
}

} // namespace tenure::zookeeper
