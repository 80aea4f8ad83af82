// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ready.hpp"

#include "store/etcd/http/gateway_error.hpp"
#include "store/etcd/http/messages.hpp"

#include <tenure/errc.hpp>

#include <string>
#include <utility>

namespace tenure::etcd
{

namespace
{

constexpr auto readiness_key = "tenure/ready";

ReadyReply readiness_of(Node const& node, Outcome outcome)
{
    if (outcome.good() || (outcome.delivery == Delivery::answered &&
                           classify(outcome.status, outcome.body).error == errc::permission_denied))
        return Ready{};
    return failure(std::move(outcome), node.where(), "a first read");
}

} // namespace

void ready(NodePtr const& node, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    Call call;
    call.path = "kv/range";
    call.body = range_body({std::string(readiness_key), {}}, {1, true});
    call.not_after = std::move(not_after);
    node->client->call(std::move(call), [node, handler = std::move(handler)](Outcome outcome) mutable {
        std::move(handler)(readiness_of(*node, std::move(outcome)));
    });
}

} // namespace tenure::etcd
