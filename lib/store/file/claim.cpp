// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims: the first free key of a range, under the lock of its records.
#include "operations.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tenure::file
{

namespace
{

/** One search for a key. */
struct Search {
    ClaimRequest const& request;
    /// only a key of the request's owner
    bool own_only = false;
    /// the first end of a taken key
    std::optional<BootTime> earliest{};
    /// holders of taken keys
    std::set<HolderId> holders{};
};

/** A slot that may be taken. */
struct Place {
    std::uint32_t slot;
    RecordPair pair;
};

std::uint64_t next_token(std::uint64_t last)
{
    using namespace std::chrono;
    auto const wall = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    return std::max(last + 1, static_cast<std::uint64_t>(wall));
}

ClaimReply grant(Session& session, RangeFilePtr const& file, Search const& search, Place const& place, Instant since)
{
    auto const& request = search.request;
    if (request.owner.size() > longest_value - 9) // "resting/"
        return Failure::refused(errc::store_refused, "the owner is longer than a record", true);
    auto const now = session.clock().at(since);
    auto taken = session.holder().take(now + std::chrono::nanoseconds(request.lifetime()).count(), now);
    if (auto* const failure = std::get_if<Failure>(&taken))
        return std::move(*failure);
    auto& tenancy = std::get<std::shared_ptr<Tenancy>>(taken);
    tenancy->file = file;
    tenancy->slot = place.slot;
    Record record;
    auto const& last = current(place.pair);
    record.token = request.fencing ? next_token(last.token) : last.token;
    record.claim = tenancy->claim;
    record.granted = now;
    record.reuse_after = std::chrono::nanoseconds(request.reuse_after).count();
    record.holder = session.holder().id();
    record.cell = tenancy->cell;
    record.set_value(request.owner);
    std::optional<Failure> failure;
    if (!file->write(place.slot, place.pair, record))
        failure = failed_call(errno, "cannot write a record in " + session.directory().path());
    else if (!session.intact())
        failure = other_directory(session);
    if (failure) {
        // a record that was written all the same names an ended claim
        static_cast<void>(session.holder().end(*tenancy));
        return std::move(*failure);
    }
    Granted granted;
    granted.fencing_token = request.fencing ? record.token : 0;
    granted.ttl = request.ttl;
    granted.since = since;
    granted.handle = std::move(tenancy);
    return granted;
}

/** Looks for a key while the segment is locked. Unset: none is free. */
std::optional<ClaimReply> claim_in(Session& session, RangeFilePtr const& file, Segment const& segment, Search& search)
{
    // The clock first: a holder that renews meanwhile only makes the key look older than it is.
    auto const since = session.runtime().now();
    auto const now = session.clock().at(since);
    if (search.request.not_after.over(since))
        return Failure::dropped();
    bool const look_for_own = search.request.earliest_attempt.has_value();
    session.others().begin(segment.count > 1);
    std::optional<Place> free;
    std::optional<Place> own;
    std::vector<RecordPair> pairs;
    for (std::uint32_t done = 0; done < segment.count && !own && (look_for_own || !free);) {
        // a few at first, since one of the first keys is mostly free
        auto const count = std::min<std::uint32_t>(segment.count - done, done == 0 ? 16 : 1024);
        if (!file->read(segment.slot + done, count, pairs))
            return failed_call(errno, "cannot read in " + session.directory().path());
        for (std::uint32_t i = 0; i < count && !own && (look_for_own || !free); ++i) {
            auto const& record = current(pairs[i]);
            auto const state = session.look(record, now);
            if (!state.taken) {
                if (!free && !search.own_only)
                    free = Place{segment.slot + done + i, pairs[i]};
                continue;
            }
            if (look_for_own && record.value() == search.request.owner)
                own = Place{segment.slot + done + i, pairs[i]};
            if (state.until)
                search.earliest = std::min(search.earliest.value_or(*state.until), *state.until);
            if (!record.holder.none())
                search.holders.insert(record.holder);
        }
        done += count;
    }
    auto const& place = own ? own : free;
    if (!place)
        return std::nullopt;
    auto reply = grant(session, file, search, *place, since);
    if (auto* const granted = std::get_if<Granted>(&reply))
        granted->index = segment.index + place->slot - segment.slot;
    return reply;
}

Busy busy(Session const& session, Search const& search)
{
    Busy reply;
    if (search.earliest) {
        auto const left = std::chrono::nanoseconds(*search.earliest - session.now());
        reply.earliest_expiry =
            std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds{0});
    }
    return reply;
}

} // namespace

Failure other_directory(Session const& session)
{
    return Failure::refused(
        errc::wrong_server,
        session.directory().path() +
            " was deleted or replaced: other processes may hold the same keys; all leases are lost");
}

store::Request<ClaimReply> claim(Context context, ClaimRequest request)
{
    auto& session = *context.session;
    auto const segments = segments_of(*request.range);
    bool joined = request.waits == Waits::no;
    for (;;) {
        Search search{request};
        // A free key must not be taken before all segments have been searched for the owner.
        search.own_only = request.earliest_attempt && segments.size() > 1;
        for (std::size_t at = 0; at < segments.size();) {
            auto const& segment = segments[at];
            auto locking = session.lock(segment.stem, records(segment.slot, segment.count));
            auto locked = co_await locking;
            auto reply = claim_in(session, locked.file(), segment, search);
            locked.unlock();
            if (reply) {
                if (request.waits != Waits::no && std::holds_alternative<Granted>(*reply))
                    context.watches->leave(line_of(*request.range));
                co_return std::move(*reply);
            }
            if (++at == segments.size() && std::exchange(search.own_only, false))
                at = 0;
        }
        auto const place = line_of(*request.range);
        if (!std::exchange(joined, true) && !context.watches->is_in_line(place)) {
            auto locking = session.lock(place.stem, line_area);
            auto locked = co_await locking;
            context.watches->join(place, Line(locked.file()), request.waits == Waits::in_front);
            locked.unlock();
            // A release before this found nobody in line, so look once more.
            continue;
        }
        if (request.waits != Waits::no)
            context.watches->follow(place, search.holders);
        co_return busy(session, search);
    }
}

} // namespace tenure::file
