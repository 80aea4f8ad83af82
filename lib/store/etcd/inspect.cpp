// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and eviction on etcd.
#include "operations.hpp"
#include "steps.hpp"
#include "store/etcd/http/limits.hpp"

#include <store/ended_claim.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::etcd
{

namespace
{

KeyState state_of(KeyValue const& entry, std::uint32_t index)
{
    KeyState state;
    state.index = index;
    state.kind = entry.lease == 0 ? KeyState::Kind::foreign : KeyState::Kind::held;
    auto const ended = read_ended_claim(entry.value);
    if (ended && entry.lease != 0)
        state.kind = ended->kind;
    state.owner = (ended ? ended->last_owner : std::string_view(entry.value)).substr(0, KeyState::longest_owner);
    state.fencing_token = entry.create_revision;
    return state;
}

/// added to the new lease, because the former holder may renew its lease after the grant
constexpr std::chrono::seconds spare{1};

/** A renewal between the grant of this lease and a late exchange would outlast it. */
void restart_ttl(ClusterContext& cluster, Lease const& lease)
{
    auto const not_after = cluster.runtime().now() + std::chrono::seconds(lease.granted);
    HttpRequest http_request{"lease/keepalive", lease_body(lease.id), not_after, {.line = Line::later_steps}};
    cluster.client->send(std::move(http_request), [](Outcome const&) {});
}

} // namespace

store::Request<InspectReply> inspect(ClusterPtr cluster, KeyRangePtr range, Deadline not_after)
{
    std::vector<KeyState> states(range->count);
    for (std::uint32_t i = 0; i < range->count; ++i)
        states[i].index = i;
    // indexes of the keys whose leases are read
    std::vector<std::uint32_t> leased;
    std::vector<HttpRequest> calls;
    for (std::optional<Keys> keys = whole(*range); keys;) {
        auto read = read_page(cluster, *range, *keys, false, not_after);
        auto const page = co_await read;
        for (auto const& entry : page.found)
            if (auto const index = index_of(*range, entry.key)) {
                states[*index] = state_of(entry, *index);
                if (entry.lease != 0 && leased.size() < most_leases_inspected) {
                    leased.push_back(*index);
                    calls.push_back({"lease/timetolive", lease_body(entry.lease), not_after});
                }
            }
        keys = rest_of(*keys, page);
    }

    auto read_leases = store::all_of<Outcome>(calls.size(), [&](std::size_t i, OutcomeHandler handler) {
        cluster->client->send(std::move(calls[i]), std::move(handler));
    });
    auto const leases = co_await read_leases;
    // The remaining time of a lease may be refused or unknown; the owner is known nevertheless.
    for (std::size_t i = 0; i < leases.size(); ++i)
        if (auto const lease = leases[i].good() ? parse_lease(leases[i].body) : std::nullopt)
            states[leased[i]].remaining = std::chrono::seconds(std::max<std::int64_t>(lease->ttl, 0));
    co_return std::move(states);
}

/** Reads the holder and the length of its lease, gets a lease of that length, and exchanges the value in a transaction
 *  that compares. If the key has moved to another lease meanwhile, it is read again. */
store::Request<EvictReply> evict(ClusterPtr cluster, EvictRequest request)
{
    auto const key = request.range->key(request.index);
    Line line = Line::first_steps;
    auto const http_request = [&](std::string_view path, std::string body) {
        return HttpRequest{
            .path = path,
            .body = std::move(body),
            .not_after = request.not_after,
            .sender = {.line = std::exchange(line, Line::later_steps)},
            .reply_bytes = most_page_bytes};
    };
    for (;;) {
        auto read = ask(cluster, http_request("kv/range", range_body({key, {}}, {})), key, parse_range);
        auto const page = co_await read;
        auto const& seen = page.found;
        if (seen.empty() || seen.front().value != request.owner)
            co_return NotOwner{};
        if (seen.front().lease == 0)
            co_return Failure::refused(
                errc::key_conflict,
                cluster->where() + ": " + key +
                    ": bears no lease, so it would never become free; delete it by hand if no program uses it",
                true);

        auto read_lease =
            ask(cluster, http_request("lease/timetolive", lease_body(seen.front().lease)), key, parse_lease);
        auto const held = co_await read_lease;
        // The remaining time is not enough: a renewal before the exchange restores the full ttl, and changes nothing
        // that is compared.
        auto const ttl = std::chrono::seconds(std::max<std::int64_t>(held.granted_ttl, 0)) + spare;
        auto grant_longer = grant(cluster, ttl, request.not_after, {.line = Line::later_steps});
        auto const lease = co_await grant_longer;

        Transaction transaction;
        transaction.if_modified_at(key, seen.front().mod_revision);
        transaction.then_put(key, "evicted/" + request.evicted_by, lease->id);
        auto exchange = ask(cluster, http_request("kv/txn", transaction.body()), key, parse_transaction);
        auto const exchanged = co_await exchange;
        if (exchanged.succeeded) {
            if (cluster->runtime().now() - lease->since > spare)
                restart_ttl(*cluster, *lease);
            co_return Evicted{std::chrono::seconds(lease->granted)};
        }
        cluster->leases->discard(lease);
    }
}

} // namespace tenure::etcd
