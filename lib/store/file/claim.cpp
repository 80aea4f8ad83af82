// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims: the first free key of a range, under the lock of its records; or a place of a key. Renewals: in the own
// cells, without a lock.
#include "places.hpp"

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

/** Claims a key of a segment. Unset: all are taken. */
std::optional<ClaimReply> claim_in(Search& search, Segment const& segment)
{
    auto const& request = search.request;
    auto const locked = search.session.lock(segment);
    Look look(search.session);
    if (request.not_after.over(look.since))
        return Failure::dropped();
    std::optional<ClaimReply> reply;
    locked->each(segment, [&](std::uint32_t slot, RecordPair const& pair) {
        auto const& record = current(pair);
        auto const index = segment.index + slot - segment.slot;
        auto state = look.at(record);
        auto last_token = record.token;
        bool const is_own = state.taken && record.value() == request.owner;
        if (!search.for_own && !state.taken) {
            PlacesSeen const seen(search.session.find(places_of(request.range->key(index)).stem), look);
            state = seen.occupancy();
            last_token = std::max(last_token, seen.last_number);
        }
        if (search.for_own ? is_own : !state.taken) {
            Record granted;
            granted.token = request.fencing ? next_token(last_token) : last_token;
            auto tenancy = write_claim(search.session, *locked, slot, pair, request, look, granted);
            auto const token = request.fencing ? granted.token : 0;
            reply = Granted{index, token, request.ttl, look.since, std::move(tenancy)};
        }
        if (state.taken && state.until)
            search.earliest = std::min(search.earliest.value_or(*state.until), *state.until);
        if (state.taken && record.until == 0 && record.length != 0)
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

Busy busy_of(Places const& places)
{
    std::optional<BootTime> earliest;
    for (auto const& place : places.line())
        if (auto const until = place.state.until)
            earliest = std::min(earliest.value_or(*until), *until);
    return {time_until(earliest, places.look().now)};
}

/** Takes a place, or keeps the one that the owner has. */
ClaimReply claim_place(Session const& session, Places& places, ClaimRequest const& request)
{
    auto const& look = places.look();
    if (request.not_after.over(look.since))
        return Failure::dropped();
    if (auto const& plain = places.plain().state; plain.taken)
        return Busy{time_until(plain.until, look.now)};
    auto* place = places.find(request.owner);
    if (place != nullptr)
        places.take(*place, request);
    else if (place = places.enter(request); place == nullptr)
        return busy_of(places);
    auto const& record = place->record;
    auto handle = std::make_shared<Tenancy>(Tenancy{session.holder, record.cell, record.claim, place->slot});
    if (record.holds != 0)
        return Granted{0, record.token, request.ttl, look.since, std::move(handle)};
    auto busy = busy_of(places);
    busy.place = InLine{record.token, places.ahead_of(*place), request.ttl, look.since, std::move(handle)};
    return busy;
}

/** The stores whose deaths a waiting place awaits: those that hold, and the one right ahead. Each of the others has
 * another one behind it, which awaits its death. */
std::set<HolderId> awaited(Places const& places, std::uint32_t ahead)
{
    constexpr std::size_t most = 32;
    std::set<HolderId> holders;
    for (auto i = ahead; i > 0 && holders.size() < most; --i)
        if (auto const& record = places.line()[i - 1].record; record.until == 0 && (record.holds != 0 || i == ahead))
            holders.insert(record.holder);
    return holders;
}

ClaimReply claim_share(Context const& context, ClaimRequest const& request)
{
    std::set<HolderId> followed;
    auto reply = in_places(context.session, *request.range, 0, false, [&](Places& places) {
        auto answer = claim_place(*context.session, places, request);
        if (auto const* const busy = std::get_if<Busy>(&answer); busy != nullptr && busy->place)
            followed = awaited(places, busy->place->ahead);
        return answer;
    });
    context.watches->follow(followed);
    return reply;
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
    auto const stem = records_of(claim).stem;
    auto const [range, is_new] = ranges.try_emplace(stem);
    if (is_new)
        range->second = session.find(stem);
    return names(range->second, tenancy, claim.owner);
}

} // namespace

std::uint64_t next_token(std::uint64_t last)
{
    using namespace std::chrono;
    auto const wall = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    return std::max(last + 1, static_cast<std::uint64_t>(wall));
}

std::shared_ptr<Tenancy> write_claim(
    Session& session, RangeFile const& range, std::uint32_t slot, RecordPair const& old, ClaimRequest const& request,
    Look const& look, Record& record)
{
    if (request.owner.size() > sizeof(Record::text) - 9) // "resting/"
        throw Failure::refused(errc::store_refused, "the owner is longer than a record", true);
    // the cell first: no record ever names a cell that does not have its claim
    auto const until = later(look.now, request.lifetime());
    auto tenancy = std::make_shared<Tenancy>(session.holder->take(until, look.now));
    tenancy->holder = session.holder;
    tenancy->slot = slot;
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
    return tenancy;
}

ClaimReply claim(Context const& context, ClaimRequest const& request)
{
    auto& session = *context.session;
    auto& watches = *context.watches;
    session.sweep();
    if (request.share)
        return claim_share(context, request);
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
        return Busy{time_until(search.earliest, session.now())};
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
            extensions.push_back({tenancy->cell, later(now, request.lifetime())});
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
