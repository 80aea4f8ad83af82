// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals on ZooKeeper.
#include "operations.hpp"

#include <utility>

namespace tenure::zookeeper
{

namespace
{

[[nodiscard]] RenewReply
judge_read(Ensemble const& ensemble, OwnedNode& node, Response const& write, Response const& read)
{
    auto const& response = is_answered(write.code) ? read : write;
    if (node.state == OwnedNode::State::gone || response.code == ZNONODE) {
        ensemble.registry().remove(node);
        return NotOwner{};
    }
    if (response.code != ZOK)
        return ensemble.failure(response, node.range->key(node.index));
    if (!node.still_owned(response)) {
        node.session->forget(node.path);
        if (!node.matches(response))
            ensemble.registry().remove(node);
        return NotOwner{};
    }
    Renewed const renewed{node.session->timeout(), node.session->proven()};
    ensemble.registry().extend(node, renewed.since + renewed.ttl);
    return renewed;
}

} // namespace

void renew(EnsemblePtr const& ensemble, RenewRequest request, ReplyHandler<RenewReply> handler)
{
    auto const node = ensemble->registry().find(*request.claim);
    if (node == nullptr || !node->session->connected()) {
        auto reply = node == nullptr ? RenewReply(NotOwner{}) : RenewReply(node->session->why_not_connected());
        ensemble->runtime().post(
            [handler = std::move(handler), reply = std::move(reply)]() mutable { handler(std::move(reply)); });
        return;
    }
    Deadline not_after(request.not_after, Deadline::Mark(request.claim, &request.claim->mark));
    node->session->prove(
        {node->path, std::move(not_after),
         [ensemble, node, handler = std::move(handler)](Response const& write, Response const& read) mutable {
             handler(judge_read(*ensemble, *node, write, read));
         }});
}

} // namespace tenure::zookeeper
