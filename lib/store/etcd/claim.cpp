// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims on etcd: a search for earlier attempts, a lease, and a put of the first free key.
#include "attempt.hpp"
#include "operations.hpp"
#include "shares.hpp"
#include "steps.hpp"
#include "store/etcd/http/limits.hpp"

#include <tenure/errc.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::etcd
{

namespace
{

/// after a conflict one of the first free keys is tried, chosen at random among this many; after a second one any free
/// key, so that a fleet which claims at once finds keys for all
constexpr std::size_t choice = 16;

/** The held keys of a range, as last read, and as conflicts have shown since. */
class OccupiedKeys
{
public:
    explicit OccupiedKeys(KeyRangePtr range)
        : range_(std::move(range))
        , held_(range_->count)
    {
    }

    void add(RangeReply const& reply)
    {
        for (auto const& entry : reply.found)
            if (auto const index = index_of(*range_, entry.key); index && !held_[*index]) {
                held_[*index] = true;
                ++count_;
                foreign_ += entry.lease == 0 ? 1U : 0U;
            }
    }

    /** Adds a held key; whether it has a lease is not known. */
    void add(std::uint32_t index)
    {
        count_ += held_[index] ? 0U : 1U;
        held_[index] = true;
        old_ = true;
    }

    [[nodiscard]] bool contains(std::uint32_t index) const { return held_[index]; }
    [[nodiscard]] bool all() const noexcept { return count_ == range_->count; }
    /** True if a conflict has shown more than the last read. */
    [[nodiscard]] bool is_old() const noexcept { return old_; }
    /** True if no key has a lease, so none can expire. */
    [[nodiscard]] bool never_free() const noexcept { return foreign_ == count_; }

private:
    KeyRangePtr range_;
    std::vector<bool> held_;
    std::uint32_t count_ = 0;
    /// number of held keys without a lease
    std::uint32_t foreign_ = 0;
    bool old_ = false;
};

ClaimReply granted(Attempt& attempt, LeasePtr lease, std::uint32_t index, std::uint64_t created, std::uint64_t modified)
{
    auto const& request = attempt.request;
    attempt.state->lease = nullptr;
    attempt.state->granted = lease;
    Granted grant;
    grant.index = index;
    grant.fencing_token = request.fencing ? created : 0;
    grant.ttl = usable_ttl(request.ttl, request.reuse_after, lease->granted);
    grant.since = lease->since;
    auto const promised = grant.since + grant.ttl;
    grant.handle = std::make_shared<HeldKey>(HeldKey{std::move(lease), {}, created, modified, promised});
    return grant;
}

// -- leftovers of an earlier attempt --

ClaimReply found_own(Attempt& attempt, KeyValue const& entry, std::uint32_t index, Header const& header)
{
    auto const& put_with = attempt.state->lease;
    auto& leases = *attempt.cluster->leases;
    auto lease = put_with != nullptr && put_with->id == entry.lease ? put_with : leases.known(entry.lease);
    if (lease == nullptr) {
        // the lease of a forgotten attempt: at most half of its ttl had passed before the earliest known one
        lease = std::make_shared<Lease>();
        lease->id = entry.lease;
        lease->seconds = lease->granted = whole_seconds(attempt.request.lifetime());
        lease->since = *attempt.request.earliest_attempt - std::chrono::seconds(lease->granted) * 9 / 16;
    }
    leases.prove(*lease, header);
    if (lease->revoked)
        return attempt.unknown("the claim is being given back");
    return granted(attempt, std::move(lease), index, entry.create_revision, entry.mod_revision);
}

/** Finds the claim in the page: by its lease if that is known, else by the owner in its value. */
std::optional<ClaimReply> find_own(Attempt& attempt, RangeReply const& page)
{
    auto const& lease = attempt.state->lease;
    for (auto const& entry : page.found)
        if ((lease != nullptr && entry.lease == lease->id) || entry.value == attempt.request.owner)
            if (auto const index = index_of(*attempt.request.range, entry.key); index && entry.lease != 0)
                return found_own(attempt, entry, *index, page.header);
    return std::nullopt;
}

/** Searches the range for the claim, and ensures that no put of an earlier attempt takes effect later. */
using EarlierClaim = std::variant<std::optional<ClaimReply>, Failure>;
store::Request<EarlierClaim> find_earlier_claim(AttemptPtr attempt)
{
    auto const& request = attempt->request;
    for (std::optional<Keys> keys = whole(*request.range); keys;) {
        bool const by_lease = attempt->state->lease != nullptr;
        auto read = read_page(attempt->cluster, *request.range, *keys, by_lease, request.not_after, attempt->sender());
        auto const page = co_await read;
        if (attempt->stopped())
            co_return Failure::dropped();
        if (auto own = find_own(*attempt, page))
            co_return own;
        keys = rest_of(*keys, page);
    }
    if (attempt->state->lease != nullptr) {
        auto undo = as_step(undo_put(attempt));
        co_await undo;
    }
    co_return std::nullopt;
}

// -- claiming a free key --

/** One of the first `most` free keys, at random, so that two claims do not conflict again. */
std::uint32_t choose(Attempt const& attempt, OccupiedKeys const& occupied, std::size_t most)
{
    auto const& range = *attempt.request.range;
    std::vector<std::uint32_t> candidates;
    std::optional<std::uint32_t> being_taken;
    for (std::uint32_t i = 0; i < range.count && candidates.size() < most; ++i) {
        if (occupied.contains(i))
            continue;
        if (!attempt.cluster->being_taken.contains({range.prefix, range.first + i}))
            candidates.push_back(i);
        else if (!being_taken)
            being_taken = i;
    }
    if (candidates.empty())
        return *being_taken;
    return candidates[most > 1 ? attempt.cluster->runtime().random() % candidates.size() : 0];
}

/** Puts the key if it is absent, and otherwise reads which keys of a small range are held. */
HttpRequest put_request(Attempt& attempt, std::string const& key)
{
    auto const& range = *attempt.request.range;
    Transaction transaction;
    transaction.if_absent(key).then_put(key, attempt.request.owner, attempt.lease->id);
    // keys of others may lie between
    auto const seen = std::size_t{range.count} + keys_seen_on_conflict;
    if (range.count <= keys_seen_on_conflict)
        transaction.else_read(whole(range), {seen, true});
    HttpRequest http_request{"kv/txn", transaction.body(), attempt.request.not_after, attempt.sender()};
    if (range.count <= keys_seen_on_conflict)
        http_request.reply_bytes = reply_bytes(range, seen);
    return http_request;
}

using Survey = std::variant<OccupiedKeys, Failure>;
store::Request<Survey> read_range(AttemptPtr attempt)
{
    auto const& request = attempt->request;
    OccupiedKeys occupied(request.range);
    for (std::optional<Keys> keys = whole(*request.range); keys;) {
        auto read = read_page(attempt->cluster, *request.range, *keys, true, request.not_after, attempt->sender());
        read.on_failure(not_written);
        auto const page = co_await read;
        occupied.add(page);
        keys = rest_of(*keys, page);
    }
    co_return occupied;
}

/** The outcome of a put. */
struct PutReply {
    /// the claim's; nullopt: the put had no effect, and may be repeated
    std::optional<ClaimReply> reply;
    /// the key is held: what was read of a small range
    std::optional<std::vector<RangeReply>> conflict;
};

/** Puts the key. If it is held, the transaction also reads the held keys of a small range. */
store::Request<PutReply> put_key(AttemptPtr attempt, std::uint32_t index)
{
    auto& cluster = *attempt->cluster;
    auto const& range = *attempt->request.range;
    auto const key = range.key(index);
    auto const name = std::pair(range.prefix, range.first + index);
    auto put = send(attempt->cluster->client, put_request(*attempt, key));
    attempt->state->lease = attempt->lease;
    cluster.being_taken.insert(name);
    auto outcome = co_await put;
    cluster.being_taken.erase(name);

    PutReply result;
    if (!outcome.good()) {
        result.reply = put_failed(*attempt, std::move(outcome), key);
        co_return result;
    }
    auto reply = parse_transaction(outcome.body);
    std::size_t const reads = range.count <= keys_seen_on_conflict ? 1 : 0;
    if (!reply || (!reply->succeeded && reply->reads.size() != reads)) {
        result.reply = malformed_reply(cluster.where(), key);
        co_return result;
    }
    cluster.leases->prove(*attempt->lease, reply->header);
    auto const revision = reply->header.revision;
    // a later attempt may have begun; the key is the owner's all the same
    if (reply->succeeded && (attempt->state->withdrawn || attempt->lease->revoked))
        result.reply = attempt->unknown("the claim is being given back");
    else if (reply->succeeded)
        result.reply = granted(*attempt, attempt->lease, index, revision, revision);
    else {
        attempt->put_nothing();
        result.conflict = std::move(reply->reads);
    }
    co_return result;
}

/** @param seen  what the transaction has read, if it reads at all
 *  @returns true if the range has more held keys than that */
bool note_conflict(
    OccupiedKeys& occupied, KeyRangePtr const& range, std::uint32_t index, std::vector<RangeReply> const& seen)
{
    if (seen.empty()) {
        occupied.add(index);
        return false;
    }
    occupied = OccupiedKeys(range);
    occupied.add(seen.front());
    return seen.front().more;
}

/** Reads the range if it has several keys, gets a lease, and puts the first free key. */
store::Request<ClaimReply> claim_in_steps(AttemptPtr attempt)
{
    auto& cluster = *attempt->cluster;
    auto const& request = attempt->request;
    auto const& range = *request.range;
    auto begin = as_step(begin_in_turn(attempt));
    co_await begin;
    if (request.earliest_attempt) {
        auto search = as_step(find_earlier_claim(attempt));
        auto found = co_await search;
        if (found)
            co_return std::move(*found);
    }

    OccupiedKeys occupied(request.range);
    bool must_read = range.count > 1;
    std::size_t candidates = 1;
    for (;;) {
        if (must_read) {
            auto read = as_step(read_range(attempt));
            occupied = co_await read;
        }
        if (occupied.all() && occupied.is_old()) {
            // another key may be free meanwhile
            must_read = true;
            continue;
        }
        if (occupied.all())
            co_return Busy{{}, occupied.never_free()};
        if (attempt->stopped() || request.not_after.over(cluster.runtime().now())) {
            // without a read the caller's call has not returned yet
            auto turn = store::next_turn(cluster.runtime());
            co_await turn;
            co_return Failure::dropped();
        }
        // not before a key is free: each lease costs the server two writes
        auto take = as_step(take_lease(attempt));
        co_await take;
        if (attempt->stopped())
            co_return Failure::dropped();

        auto const index = choose(*attempt, occupied, candidates);
        auto put = as_step(put_key(attempt, index));
        auto result = co_await put;
        if (result.reply)
            co_return std::move(*result.reply);
        if (!result.conflict) {
            occupied = OccupiedKeys(request.range);
            must_read = range.count > 1;
            continue;
        }
        candidates = candidates == 1 ? choice : range.count;
        must_read = note_conflict(occupied, request.range, index, *result.conflict);
    }
}

} // namespace

void claim(ClusterPtr const& cluster, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    auto const attempt = std::make_shared<Attempt>(cluster, std::move(request));
    auto steps = attempt->request.share ? claim_place(attempt) : claim_in_steps(attempt);
    std::move(steps).start([attempt, handler = std::move(handler)](ClaimReply reply) mutable {
        attempt->end(std::holds_alternative<Granted>(reply));
        handler(std::move(reply));
    });
}

} // namespace tenure::etcd
