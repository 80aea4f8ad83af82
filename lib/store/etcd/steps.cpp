// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "steps.hpp"

namespace tenure::etcd
{

store::Step<Outcome> send(NodePtr const& node, Call call)
{
    return store::Step<Outcome>([client = node->client, call = std::move(call)](OutcomeHandler handler) mutable {
        client->call(std::move(call), std::move(handler));
    });
}

store::Step<std::variant<RangeReply, Failure>>
read_page(NodePtr const& node, KeyRange const& range, Keys const& keys, bool keys_only, Deadline not_after)
{
    auto const limit = keys_only ? keys_per_page : keys_with_values;
    Call call{"kv/range", range_body(keys, {limit, keys_only}), std::move(not_after)};
    call.reply_bytes = keys_only ? reply_bytes(range, limit) : bytes_with_values;
    return ask(node, std::move(call), range.describe(), parse_range);
}

store::Step<Leases::Taken> take_lease(NodePtr const& node, ClaimRequest const& request)
{
    return store::Step<Leases::Taken>([leases = node->leases, lifetime = request.lifetime(), ttl = request.ttl,
                                       not_after = request.not_after](Leases::TakenHandler handler) mutable {
        leases->take(lifetime, ttl, std::move(not_after), std::move(handler));
    });
}

store::Step<Leases::Taken> grant(NodePtr const& node, std::chrono::milliseconds lifetime, Deadline not_after)
{
    return store::Step<Leases::Taken>(
        [leases = node->leases, lifetime, not_after = std::move(not_after)](Leases::TakenHandler handler) mutable {
            leases->grant(lifetime, std::move(not_after), std::move(handler));
        });
}

store::Step<WithdrawReply> revoke(NodePtr const& node, LeasePtr lease, Deadline not_after)
{
    return store::Step<WithdrawReply>([leases = node->leases, lease = std::move(lease),
                                       not_after = std::move(not_after)](ReplyHandler<WithdrawReply> handler) mutable {
        leases->revoke(lease, std::move(not_after), std::move(handler));
    });
}

store::Step<std::monostate> next_turn(NodePtr const& node)
{
    return store::Step<std::monostate>([node](OneShot<void(std::monostate&&)> handler) {
        node->runtime().post([handler = std::move(handler)]() mutable { handler({}); });
    });
}

} // namespace tenure::etcd
