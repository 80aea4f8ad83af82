// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims of shares: a place, and whether it holds.
#include "shares.hpp"

#include "places.hpp"
#include "store/etcd/http/limits.hpp"
#include "store/etcd/leases/rebind.hpp"

#include <store/share_sum.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::etcd
{

namespace
{

/// of tries, whose put failed because the places had changed since they were read
constexpr int most_conflicts = 3;
/// for the move of a place to another lease
constexpr std::chrono::seconds move_limit{5};
/// a claim keeps a place alive once this fraction of its ttl has passed: 1/6
constexpr std::int64_t youth = 6;

bool is_own(Attempt const& attempt, KeyValue const& place)
{
    auto const& lease = attempt.state->lease;
    return (lease != nullptr && place.lease == lease->id) ||
           (place.lease != 0 && read_place(place.value).owner == attempt.request.owner);
}

/** True if one more share would hold behind all places. */
bool fits_behind(std::vector<KeyValue> const& places, Share const& share)
{
    ShareSum sum;
    for (auto const& place : places)
        (void)sum.add(read_place(place.value).share);
    return sum.add(share) && places.size() < most_places;
}

/** The answer to a claim whose owner has this lease; nullopt: it has none of the first places. */
std::optional<ClaimReply> answer(Attempt& attempt, LeasePtr lease, RangeReply const& page)
{
    auto const& request = attempt.request;
    ShareSum sum;
    std::uint32_t ahead = 0;
    for (auto const& place : page.found) {
        auto const share = read_place(place.value).share;
        bool const holds = sum.add(share);
        if (!is_own(attempt, place)) {
            ++ahead;
            continue;
        }
        if (ahead >= most_places)
            return std::nullopt;
        auto const ttl = usable_ttl(request.ttl, {}, lease->granted);
        auto const number = place.create_revision;
        if (!holds)
            return Busy{.place = InLine{number, ahead, ttl, lease->since}};
        attempt.state->lease = nullptr;
        attempt.state->granted = lease;
        auto name = std::make_shared<HeldKey::Place const>(HeldKey::Place{place.key, share});
        HeldKey held{lease, {}, number, place.mod_revision, lease->since + ttl, {}, std::move(name)};
        return Granted{0, number, ttl, lease->since, std::make_shared<HeldKey>(std::move(held))};
    }
    return std::nullopt;
}

/** Begins the claim's transaction: it takes a place and reads all, or only reads.
 *  @param seen  of a try: the revision at which its share fitted; nullopt: it needs a key without places */
HttpRequest place_request(Attempt& attempt, std::string const& place, std::optional<std::uint64_t> seen)
{
    auto const& request = attempt.request;
    auto const& key = request.range->prefix;
    auto const places = places_of(key);
    Transaction transaction;
    transaction.if_absent(key);
    if (request.waits != Waits::no)
        transaction.if_absent(place);
    else if (seen)
        transaction.if_none_put_after(places, *seen);
    else
        transaction.if_none(places);
    transaction.then_put(place, place_value(request.owner, *request.share), attempt.lease->id);
    transaction.then_read(places, all_places);
    transaction.else_read({key, {}}, {0, true}).else_read(places, all_places);
    HttpRequest http_request{"kv/txn", transaction.body(), request.not_after, attempt.sender()};
    http_request.reply_bytes = most_page_bytes;
    return http_request;
}

/** Moves the owner's place to a new lease, as renewals do with held keys: an earlier leader may end the present one. */
store::Request<Stepped> leave_earlier_term(AttemptPtr attempt, KeyValue const place)
{
    auto const& request = attempt->request;
    auto const claim = std::make_shared<Claim>();
    claim->range = request.range;
    claim->owner = request.owner;
    HeldKey held{attempt->state->lease, {}, place.create_revision, place.mod_revision};
    held.place = std::make_shared<HeldKey::Place const>(HeldKey::Place{place.key, read_place(place.value).share});
    claim->handle = std::make_shared<HeldKey>(std::move(held));
    RenewRequest renewal{claim, request.ttl, attempt->cluster->runtime().now() + move_limit};
    auto move = as_step(move_to_new_lease(attempt->cluster, std::move(renewal), false));
    auto const moved = co_await move;
    if (auto const* const failed = std::get_if<Failure>(&moved)) {
        // a move that comes late must not shorten the place's life
        for (auto const& successor : held_key_of(*claim).successors)
            attempt->cluster->leases->discard(successor.lease);
        co_return *failed;
    }
    if (!attempt->stopped())
        attempt->state->lease = held_key_of(*claim).lease;
    co_return std::monostate();
}

/** Renews the lease of a place that waits. A read must show whether the place exists. */
store::Request<Stepped> keep_alive(AttemptPtr attempt, LeasePtr lease)
{
    auto const& cluster = *attempt->cluster;
    auto const& request = attempt->request;
    HttpRequest http_request{"lease/keepalive", lease_body(lease->id), request.not_after, attempt->sender()};
    auto keep = send(cluster.client, std::move(http_request));
    auto const outcome = co_await keep;
    if (outcome.delivery != Delivery::answered)
        co_return failure(outcome, cluster.where(), request.range->prefix);
    if (auto const reply = outcome.good() ? parse_lease(outcome.body) : std::nullopt; reply && reply->ttl > 0) {
        lease->granted = reply->ttl;
        lease->renewed = {outcome.since, reply->header.raft_term};
    }
    co_return std::monostate();
}

/** Searches for the owner's place, and keeps it alive. Without one, no put of an earlier attempt takes effect later. */
using EarlierPlace = std::variant<std::optional<ClaimReply>, Failure>;
store::Request<EarlierPlace> find_place(AttemptPtr attempt)
{
    auto& cluster = *attempt->cluster;
    auto const& request = attempt->request;
    auto const places = places_of(request.range->prefix);
    auto& lease = attempt->state->lease;
    for (bool has_place = true; has_place;) {
        if (lease != nullptr && cluster.runtime().now() - lease->since > Clock::duration(request.ttl) / youth) {
            auto keep = as_step(keep_alive(attempt, lease));
            co_await keep;
        }
        HttpRequest read{"kv/range", range_body(places, all_places), request.not_after, attempt->sender()};
        read.reply_bytes = most_page_bytes;
        auto ask_places = ask(attempt->cluster, std::move(read), request.range->describe(), parse_range);
        auto page = co_await ask_places;
        if (attempt->stopped())
            co_return Failure::dropped();
        cluster.lines.read(places, page);
        auto const own =
            std::ranges::find_if(page.found, [&](KeyValue const& place) { return is_own(*attempt, place); });
        has_place = own != page.found.end();
        if (has_place && lease != nullptr && lease->id == own->lease) {
            cluster.leases->prove(*lease, page.header);
            if (lease->revoked)
                co_return attempt->unknown("the claim is being given back");
            if (lease->raft_term < page.header.raft_term) {
                auto move = as_step(leave_earlier_term(attempt, *own));
                co_await move;
                continue;
            }
            auto reply = answer(*attempt, lease, page);
            if (reply)
                co_return std::move(reply);
            has_place = false;
        } else if (has_place) {
            // the place of a forgotten attempt, or a lease that an earlier answer named
            lease = cluster.leases->known(own->lease);
            if (lease == nullptr) {
                lease = std::make_shared<Lease>();
                lease->id = own->lease;
                lease->seconds = lease->granted = whole_seconds(request.ttl);
                lease->since = *request.earliest_attempt - std::chrono::seconds(lease->granted);
            }
        }
    }
    if (lease != nullptr) {
        auto undo = as_step(undo_put(attempt));
        co_await undo;
    }
    co_return std::nullopt;
}

/** The answer to a claim whose put found another key; nullopt: it may put again.
 *  @param seen  the plain key, and the places */
std::optional<ClaimReply> refuse(Attempt& attempt, std::vector<RangeReply> const& seen)
{
    attempt.put_nothing();
    if (auto const& plain = seen.front().found; !plain.empty())
        return Busy{.never_frees = plain.front().lease == 0};
    if (attempt.request.waits != Waits::no)
        attempt.cluster->leases->discard(std::exchange(attempt.lease, nullptr)); // a key of this name is there
    else if (!fits_behind(seen.back().found, *attempt.request.share))
        return Busy{};
    return std::nullopt;
}

/** The answer to a claim whose put took effect. */
store::Request<ClaimReply> answer_placed(AttemptPtr attempt, RangeReply page)
{
    if (attempt->state->withdrawn || attempt->lease->revoked)
        co_return attempt->unknown("the claim is being given back");
    attempt->cluster->lines.read(places_of(attempt->request.range->prefix), page);
    auto placed = answer(*attempt, attempt->lease, page);
    if (placed)
        co_return std::move(*placed);
    // the key has all its places already
    auto undo = as_step(undo_put(attempt));
    co_await undo;
    co_return Busy{};
}

} // namespace

store::Request<ClaimReply> claim_place(AttemptPtr attempt)
{
    auto& cluster = *attempt->cluster;
    auto const& request = attempt->request;
    auto begin = as_step(begin_in_turn(attempt));
    co_await begin;
    if (request.earliest_attempt) {
        auto search = as_step(find_place(attempt));
        auto found = co_await search;
        if (found)
            co_return std::move(*found);
    }
    std::optional<std::uint64_t> seen;
    for (int conflicts = 0; conflicts <= most_conflicts;) {
        if (!attempt->stopped()) {
            auto take = as_step(take_lease(attempt));
            co_await take;
        }
        if (attempt->stopped() || request.not_after.over(cluster.runtime().now())) {
            // with a spare lease the caller's call has not returned yet
            auto turn = store::next_turn(cluster.runtime());
            co_await turn;
            co_return Failure::dropped();
        }
        auto const key = place_key(request.range->prefix, attempt->lease->id);
        auto put = send(cluster.client, place_request(*attempt, key, seen));
        attempt->state->lease = attempt->lease;
        auto outcome = co_await put;
        if (!outcome.good()) {
            if (auto failed = put_failed(*attempt, std::move(outcome), key))
                co_return std::move(*failed);
            continue;
        }
        auto reply = parse_transaction(outcome.body);
        if (!reply || reply->reads.size() != (reply->succeeded ? 1U : 2U))
            co_return malformed_reply(cluster.where(), key);
        cluster.leases->prove(*attempt->lease, reply->header);
        auto& page = reply->reads.back();
        page.header = reply->header;
        if (reply->succeeded) {
            auto answering = as_step(answer_placed(attempt, std::move(page)));
            auto answered = co_await answering;
            co_return std::move(answered);
        }
        if (auto busy = refuse(*attempt, reply->reads))
            co_return std::move(*busy);
        seen = reply->header.revision;
        ++conflicts;
    }
    co_return Busy{};
}

} // namespace tenure::etcd
