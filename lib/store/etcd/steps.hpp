// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The steps that requests to a cluster consist of, for coroutines.
#pragma once

#include "node.hpp"
#include "range_keys.hpp"
#include "store/etcd/http/exchange.hpp"

#include <store/coroutine.hpp>
#include <store/not_written.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::etcd
{

/** Sends a request. The outcome is given as it is. */
[[nodiscard]] store::Step<Outcome> send(NodePtr const& node, Call call);

/** Sends a request and reads its reply with `parse`. `what` names the key in errors. */
template <class Reply>
[[nodiscard]] store::Step<std::variant<Reply, Failure>>
ask(NodePtr const& node, Call call, std::string what, std::optional<Reply> (*parse)(std::string_view))
{
    using Handler = OneShot<void(std::variant<Reply, Failure>&&)>;
    return store::Step<std::variant<Reply, Failure>>(
        [node, call = std::move(call), what = std::move(what), parse](Handler handler) mutable {
            auto& client = *node->client;
            client.call(
                std::move(call),
                [node = std::move(node), what = std::move(what), parse, handler = std::move(handler)](
                    Outcome outcome) mutable { handler(read_reply(std::move(outcome), node->where(), what, parse)); });
        });
}

/** Reads one page of a range (see `rest_of`). */
[[nodiscard]] store::Step<std::variant<RangeReply, Failure>>
read_page(NodePtr const& node, KeyRange const& range, Keys const& keys, bool keys_only, Deadline not_after);

/** A spare lease or a new one, for a claim. May complete at once. */
[[nodiscard]] store::Step<Leases::Taken> take_lease(NodePtr const& node, ClaimRequest const& request);

/** A new lease. */
[[nodiscard]] store::Step<Leases::Taken>
grant(NodePtr const& node, std::chrono::milliseconds lifetime, Deadline not_after);

/** Ends a lease. */
[[nodiscard]] store::Step<WithdrawReply> revoke(NodePtr const& node, LeasePtr lease, Deadline not_after);

/** Goes on in the next turn of the loop. */
[[nodiscard]] store::Step<std::monostate> next_turn(NodePtr const& node);

} // namespace tenure::etcd
