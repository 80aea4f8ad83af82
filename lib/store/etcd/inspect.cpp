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
    auto const owner = read_place(entry.value).owner;
    auto const ended = read_ended_claim(owner);
    if (ended && entry.lease != 0)
        state.kind = ended->kind;
    state.owner = (ended ? ended->last_owner : owner).substr(0, KeyState::longest_owner);
    state.fencing_token = entry.create_revision;
    return state;
}

/** Reads the leases, one by one. */
store::Step<std::vector<Outcome>>
read_leases(ClusterPtr const& cluster, std::vector<LeaseId> const& leases, Deadline const& not_after)
{
    return store::all_of<Outcome>(leases.size(), [=](std::size_t i, OutcomeHandler handler) {
        cluster->client->send({"lease/timetolive", lease_body(leases[i]), not_after}, std::move(handler));
    });
}

std::optional<std::chrono::milliseconds> remaining(Outcome const& read)
{
    auto const lease = read.good() ? parse_lease(read.body) : std::nullopt;
    return lease ? std::optional(std::chrono::seconds(std::max<std::int64_t>(lease->ttl, 0))) : std::nullopt;
}

store::Request<InspectReply> inspect_places(ClusterPtr cluster, KeyRangePtr range, Deadline not_after)
{
    Transaction transaction;
    transaction.then_read({range->prefix, {}}, {}).then_read(places_of(range->prefix), all_places);
    HttpRequest http_request{"kv/txn", transaction.body(), not_after};
    http_request.reply_bytes = most_page_bytes;
    auto read = ask(cluster, std::move(http_request), range->describe(), parse_transaction);
    auto const reply = co_await read;
    if (reply.reads.size() != 2)
        co_return malformed_reply(cluster->where(), range->describe());
    bool const plain = !reply.reads.front().found.empty();
    auto const& found = reply.reads[plain ? 0 : 1].found;
    std::vector<LeaseId> leases;
    for (auto const& entry : found)
        leases.push_back(entry.lease);
    auto read_remaining = read_leases(cluster, leases, not_after);
    auto const outcomes = co_await read_remaining;
    KeyState state = found.empty() ? KeyState{} : state_of(found.front(), 0);
    if (!found.empty())
        state.remaining = remaining(outcomes.front());
    ShareSum sum;
    for (std::size_t i = 0; i < found.size() && !plain; ++i) {
        auto const [owner, share] = read_place(found[i].value);
        state.places.push_back(
            {std::string(owner.substr(0, KeyState::longest_owner)), share.weight, share.capacity,
             found[i].create_revision, remaining(outcomes[i]).value_or(std::chrono::milliseconds{0}), sum.add(share)});
    }
    co_return std::vector{std::move(state)};
}

/// added to the new lease, because the former holder may renew its lease after the grant
constexpr std::chrono::seconds spare{1};

/** True if the place of this name does not hold. */
bool waits(std::vector<KeyValue> const& places, std::string const& name)
{
    ShareSum sum;
    for (auto const& place : places) {
        bool const holds = sum.add(read_place(place.value).share);
        if (place.key == name)
            return !holds;
    }
    return false;
}

/** A renewal between the grant of this lease and a late exchange would outlast it. */
void restart_ttl(ClusterContext& cluster, Lease const& lease)
{
    auto const not_after = cluster.runtime().now() + std::chrono::seconds(lease.granted);
    HttpRequest http_request{"lease/keepalive", lease_body(lease.id), not_after, {.line = Line::later_steps}};
    cluster.client->send(std::move(http_request), [](Outcome const&) {});
}

/** Exchanges the owner for the one that `evict` leaves, if nothing was put since it was read. Of places it reads all.
 */
Transaction exchange_of(EvictRequest const& request, KeyValue const& seen, Lease const& lease)
{
    auto value = "evicted/" + request.evicted_by;
    if (request.range->shares)
        value = place_value(std::move(value), read_place(seen.value).share);
    Transaction transaction;
    transaction.if_modified_at(seen.key, seen.mod_revision).then_put(seen.key, value, lease.id);
    if (request.range->shares)
        transaction.then_read(places_of(request.range->key(request.index)), all_places);
    return transaction;
}

} // namespace

store::Request<InspectReply> inspect(ClusterPtr cluster, InspectRequest request)
{
    auto const& range = request.range;
    auto const& not_after = request.not_after;
    // a lock may be held in places, whatever the range says
    if (!range->numbered) {
        auto places = as_step(inspect_places(cluster, range, not_after));
        auto state = co_await places;
        co_return state;
    }
    std::vector<KeyState> states(range->count);
    for (std::uint32_t i = 0; i < range->count; ++i)
        states[i].index = i;
    // the leases that are read, and the indexes of their keys
    std::vector<LeaseId> leases;
    std::vector<std::uint32_t> leased;
    for (std::optional<Keys> keys = whole(*range); keys;) {
        auto read = read_page(cluster, *range, *keys, request.names_only, not_after);
        auto const page = co_await read;
        for (auto const& entry : page.found)
            if (auto const index = index_of(*range, entry.key)) {
                states[*index] = state_of(entry, *index);
                if (entry.lease != 0 && !request.names_only && leased.size() < most_leases_inspected) {
                    leased.push_back(*index);
                    leases.push_back(entry.lease);
                }
            }
        keys = rest_of(*keys, page);
    }

    auto read_remaining = read_leases(cluster, leases, not_after);
    auto const outcomes = co_await read_remaining;
    // The remaining time of a lease may be refused or unknown; the owner is known nevertheless.
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        states[leased[i]].remaining = remaining(outcomes[i]);
    co_return std::move(states);
}

/** Reads the holder and the length of its lease, gets a lease of that length, and exchanges the value in a transaction
 *  that compares. If the key has moved to another lease meanwhile, it is read again. */
store::Request<EvictReply> evict(ClusterPtr cluster, EvictRequest request)
{
    auto key = request.range->key(request.index);
    auto const keys = request.range->shares ? places_of(key) : Keys{key, {}};
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
        auto read = ask(cluster, http_request("kv/range", range_body(keys, all_places)), key, parse_range);
        auto const page = co_await read;
        auto const seen = std::ranges::find_if(page.found, [&](KeyValue const& entry) {
            return (request.range->shares ? read_place(entry.value).owner : entry.value) == request.owner;
        });
        if (seen == page.found.end())
            co_return NotOwner{};
        key = seen->key;
        if (seen->lease == 0)
            co_return Failure::refused(
                errc::key_conflict,
                cluster->where() + ": " + key +
                    ": bears no lease, so it would never become free; delete it by hand if no program uses it",
                true);

        auto read_lease = ask(cluster, http_request("lease/timetolive", lease_body(seen->lease)), key, parse_lease);
        auto const held = co_await read_lease;
        // The remaining time is not enough: a renewal before the exchange restores the full ttl, and changes nothing
        // that is compared.
        auto const ttl = std::chrono::seconds(std::max<std::int64_t>(held.granted_ttl, 0)) + spare;
        auto grant_longer = grant(cluster, ttl, request.not_after, {.line = Line::later_steps});
        auto const lease = co_await grant_longer;

        auto const transaction = exchange_of(request, *seen, *lease);
        auto exchange = ask(cluster, http_request("kv/txn", transaction.body()), key, parse_transaction);
        auto const exchanged = co_await exchange;
        if (exchanged.succeeded &&
            std::ranges::any_of(exchanged.reads, [&](RangeReply const& places) { return waits(places.found, key); })) {
            // it has never held, and never will
            auto end = revoke(cluster, lease, request.not_after, {.line = Line::later_steps});
            co_await end;
            co_return Evicted{std::chrono::milliseconds{0}};
        }
        if (exchanged.succeeded) {
            if (cluster->runtime().now() - lease->since > spare)
                restart_ttl(*cluster, *lease);
            co_return Evicted{std::chrono::seconds(lease->granted)};
        }
        cluster->leases->discard(lease);
    }
}

} // namespace tenure::etcd
