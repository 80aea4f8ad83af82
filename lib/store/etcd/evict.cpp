// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "operations.hpp"
#include "steps.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::etcd
{

namespace
{

/// of the new lease over the old one: the former holder may renew that after the grant of this
constexpr std::chrono::seconds spare{1};

/** A renewal between the grant of this lease and a late exchange would outlast it. */
void begin_anew(Node& node, Lease const& lease)
{
    auto const not_after = node.runtime().now() + std::chrono::seconds(lease.granted);
    node.client->call({"lease/keepalive", lease_body(lease.id), not_after}, [](Outcome const&) {});
}

/** Who holds it, how long its lease is, a lease for that long, and the exchange, which compares. A key that has moved
 * to another lease meanwhile is looked at again. */
store::Coroutine<EvictReply> evict_in_steps(NodePtr node, EvictRequest request)
{
    auto const key = request.range->key(request.index);
    auto const call = [&](std::string_view path, std::string body) {
        return Call{
            .path = path, .body = std::move(body), .not_after = request.not_after, .reply_bytes = bytes_with_values};
    };
    for (;;) {
        auto read = ask(node, call("kv/range", range_body({key, {}}, {})), key, parse_range);
        auto const seen = (co_await read).found;
        if (seen.empty() || seen.front().value != request.owner)
            co_return NotOwner{};
        if (seen.front().lease == 0)
            co_return Failure::refused(
                errc::key_conflict,
                node->where() + ": " + key +
                    ": bears no lease, so it would never free; delete it by hand if nobody uses it",
                true);

        auto read_lease = ask(node, call("lease/timetolive", lease_body(seen.front().lease)), key, parse_lease);
        auto const held = co_await read_lease;
        // What is left of it says nothing: a renewal before the exchange counts for all of it, and changes nothing that
        // is compared.
        auto const ttl = std::chrono::seconds(std::max<std::int64_t>(held.granted_ttl, 0)) + spare;
        auto grant_longer = grant(node, ttl, request.not_after);
        auto const lease = co_await grant_longer;

        Transaction transaction;
        transaction.if_modified_at(key, seen.front().mod_revision);
        transaction.then_put(key, "evicted/" + request.evicted_by, lease->id);
        auto exchange = ask(node, call("kv/txn", transaction.body()), key, parse_transaction);
        auto const exchanged = co_await exchange;
        if (exchanged.succeeded) {
            if (node->runtime().now() - lease->since > spare)
                begin_anew(*node, *lease);
            co_return Evicted{std::chrono::seconds(lease->granted)};
        }
        node->leases->discard(lease);
    }
}

} // namespace

void evict(NodePtr const& node, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    evict_in_steps(node, std::move(request)).start(std::move(handler));
}

} // namespace tenure::etcd
