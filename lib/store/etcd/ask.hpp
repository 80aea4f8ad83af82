// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The steps of requests to a cluster, for coroutines.
#pragma once

#include "node.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <store/coroutine.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::etcd
{

/** Sends a request, and reads its reply with `parse`. `what` names the key in errors. */
template <class Reply>
[[nodiscard]] store::Step<std::variant<Reply, Failure>>
ask(NodePtr node, Call call, std::string what, std::optional<Reply> (*parse)(std::string_view))
{
    using Handler = typename store::Step<std::variant<Reply, Failure>>::Handler;
    return store::Step<std::variant<Reply, Failure>>(
        [node = std::move(node), call = std::move(call), what = std::move(what), parse](Handler handler) mutable {
            auto& client = *node->client;
            client.call(
                std::move(call), [node = std::move(node), what = std::move(what), parse,
                                  handler = std::move(handler)](Outcome outcome) mutable {
                    std::move(handler)(read_reply(std::move(outcome), node->where(), what, parse));
                });
        });
}

/** A new lease. */
[[nodiscard]] inline store::Step<Leases::Taken>
grant(std::shared_ptr<Leases> leases, std::chrono::milliseconds lifetime, Deadline not_after)
{
    return store::Step<Leases::Taken>([leases = std::move(leases), lifetime,
                                       not_after = std::move(not_after)](OneShot<void(Leases::Taken&&)> handler) {
        leases->grant(lifetime, not_after, std::move(handler));
    });
}

} // namespace tenure::etcd
