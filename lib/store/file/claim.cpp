// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims: the first free key of a range, under the lock of its records. Renewals: in the own cells, without a lock.
#include "operations.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

namespace tenure::file
{

namespace
{

/** One search for a key. */
struct Search {
    Session& session;
    ClaimRequest const& request;
    /// a key of the request's owner; else a free one
    bool for_own = false;
    /// the first end of a taken key
    std::optional<BootTime> earliest{};
    /// holders of taken keys
    std::set<HolderId> holders{};
};

std::uint64_t next_token(std::uint64_t last)
{
    using namespace std::chrono;
    auto const wall = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    return std::max(last + 1, static_cast<std::uint64_t>(wall));
}

/** Writes a claim in place of a record. The segment is locked. */
ClaimReply
grant(Search const& search, RangeFile const& range, std::uint32_t slot, RecordPair const& old, Look const& look)
{
    auto& session = search.session;
    auto const& request = search.request;
    if (request.owner.size() > sizeof(Record::text) - 9) // "resting/"
        return Failure::refused(errc::store_refused, "the owner is longer than a record", true);
    // the cell first: no record ever names a cell that does not have its claim
    auto const until = look.now + std::chrono::nanoseconds(request.lifetime()).count();
    auto tenancy = session.holder->take(until, look.now);
    Record record;
    auto const last_token = current(old).token;
    record.token = request.fencing ? next_token(last_token) : last_token;
    record.claim = tenancy->claim;
    record.granted = look.now;
    record.reuse_after = std::chrono::nanoseconds(request.reuse_after).count();
    record.holder = session.holder->id;
    record.cell = tenancy->cell;
    record.set_value(request.owner);
    try {
        range.write(slot, old, record);
        session.check_intact();
    } catch (...) {
        // a record that was written all the same names an ended claim
        session.holder->end(*tenancy);
        throw;
    }
    return Granted{0, request.fencing ? record.token : 0, request.ttl, look.since, std::move(tenancy)};
}

/** Claims a key of a segment. Unset: all are taken. */
std::optional<ClaimReply> claim_in(Search& search, Segment const& segment)
{
    auto const locked = search.session.lock(segment.stem, segment.area());
    Look look(search.session);
    if (search.request.not_after.over(look.since))
        return Failure::dropped();
    std::optional<ClaimReply> reply;
    locked->each(segment, [&](std::uint32_t slot, RecordPair const& pair) {
        auto const& record = current(pair);
        auto const state = look.at(record);
        if (search.for_own ? state.taken && record.value() == search.request.owner : !state.taken) {
            reply = grant(search, *locked, slot, pair, look);
            if (auto* const granted = std::get_if<Granted>(&*reply))
                granted->index = segment.index + slot - segment.slot;
        }
        if (state.taken && state.until)
            search.earliest = std::min(search.earliest.value_or(*state.until), *state.until);
        if (state.taken && record.until == 0)
            search.holders.insert(record.holder);
        return !reply;
    });
    return reply;
}

/** Looks for a key of the owner, if it may have one, and then for a free one. */
std::optional<ClaimReply> claim_once(Search& search, std::vector<Segment> const& segments)
{
    search.for_own = search.request.earliest_attempt.has_value();
    do {
        for (auto const& segment : segments)
            if (auto reply = claim_in(search, segment))
                return reply;
    } while (std::exchange(search.for_own, false));
    return std::nullopt;
}

/** A claim that is being extended. */
struct Due {
    std::size_t request;
    Tenancy const* tenancy;
    /// when the key would have been free
    BootTime old_end;
};

/** Looks into the record of the claim: another process may have evicted it, or deleted the file.
 *  @param ranges  those that were found since the renewal was written */
bool is_named(Session& session, Claim const& claim, Tenancy const& tenancy, std::map<std::string, RangeFilePtr>& ranges)
{
    auto const place = place_of(*claim.range, claim.index);
    auto const [range, is_new] = ranges.try_emplace(place.stem);
    if (is_new)
        range->second = session.find(place.stem);
    return range->second != nullptr && names(current(range->second->read(place.slot)), tenancy, claim.owner);
}

} // namespace

ClaimReply claim(Context const& context, ClaimRequest const& request)
{
    auto& session = *context.session;
    auto& watches = *context.watches;
    session.sweep();
    auto const segments = segments_of(*request.range);
    auto const place = line_of(*request.range);
    bool const waits = request.waits != Waits::no;
    for (;;) {
        Search search{session, request};
        if (auto reply = claim_once(search, segments)) {
            if (waits && std::holds_alternative<Granted>(*reply))
                watches.leave(place);
            return std::move(*reply);
        }
        // A release before it joined the line found an empty line, so look once more.
        if (waits && watches.join(place, request.waits == Waits::in_front))
            continue;
        if (waits)
            watches.follow(search.holders);
        Busy busy;
        if (search.earliest)
            busy.earliest_expiry = time_until(*search.earliest, session.now());
        return busy;
    }
}

std::vector<RenewAnswer> renew(Session& session, std::vector<RenewRequest> const& requests)
{
    auto const since = session.runtime->now();
    auto const now = session.clock.at(since);
    std::vector<RenewAnswer> answers;
    std::vector<Due> due;
    std::vector<OwnHolder::Extension> extensions;
    for (auto const& request : requests) {
        auto const index = answers.size();
        auto& answer = answers.emplace_back(index, NotOwner{});
        auto const* const tenancy = session.tenancy_of(*request.claim);
        auto const old_end = tenancy ? session.holder->until(tenancy->cell, tenancy->claim) : std::nullopt;
        if (request.claim->mark.ended || since >= request.not_after) {
            answer.reply = Failure::dropped();
        } else if (old_end && now < *old_end) {
            due.push_back({index, tenancy, *old_end});
            extensions.push_back({tenancy->cell, now + std::chrono::nanoseconds(request.lifetime()).count()});
        }
    }
    if (due.empty())
        return answers;
    session.holder->extend(extensions);
    // Another process may have found the key free before the write: then the old end has passed by now.
    auto const written = session.now();
    bool const intact = session.intact();
    std::vector<OwnHolder::Extension> refused;
    std::map<std::string, RangeFilePtr> ranges;
    for (auto const& one : due) {
        auto const& request = requests[one.request];
        if (intact && written < one.old_end && is_named(session, *request.claim, *one.tenancy, ranges))
            answers[one.request].reply = Renewed{request.ttl, since};
        else
            refused.push_back({one.tenancy->cell, one.old_end});
    }
    // an evicted key becomes free when its holder's validity ends, and not later
    if (!refused.empty())
        session.holder->extend(refused);
    return answers;
}

} // namespace tenure::file
