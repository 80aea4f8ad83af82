// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Releases, withdrawals and evictions.
#include "places.hpp"
#include "store/ended_claim.hpp"

#include <chrono>
#include <utility>

namespace tenure::file
{

namespace
{

/** Frees a key or place without a lock: its record names a cell that has ended. */
ReleaseReply set_free(Session& session, Claim const& claim, Tenancy const& tenancy)
{
    auto const end = session.holder->until(tenancy.cell, tenancy.claim);
    auto const file = session.find(records_of(claim).stem);
    if (!end || session.now() >= *end || !names(file, tenancy, claim.owner))
        return NotOwner{};
    session.holder->end(tenancy);
    return Released{};
}

/** Lets a key or place rest, or keeps it. */
ReleaseReply set_aside(SessionPtr const& session, ReleaseRequest const& request, Tenancy const& tenancy)
{
    auto const& claim = *request.claim;
    auto const kept = kept_value(claim.owner);
    return in_places(session, *claim.range, claim.index, false, [&](Places& places) -> ReleaseReply {
        if (request.keep_for && places.find(kept) != nullptr)
            return Released{};
        auto* const place = places.find(claim.owner);
        if (place == nullptr || !names(place->record, tenancy, claim.owner))
            return NotOwner{};
        auto const time = request.keep_for.value_or(claim.reuse_after);
        auto const end = time.count() > 0 ? later(places.look().now, time) : *place->state.until;
        place->record.end(request.keep_for ? kept : resting_value(claim.owner), end);
        places.write(*place);
        session->holder->end(tenancy);
        return Released{};
    });
}

/** Tells waiters and observers. True: a waiter of another store is named. */
bool announce(SessionPtr const& session, Release news)
{
    auto const stem = news.line.stem;
    return tell(session, stem, [news = std::move(news)](Line& line) { line.released(news); });
}

/** After a place has ended: drops it, and those behind it may hold. */
void promote(SessionPtr const& session, KeyRangePtr const& range)
{
    attempt(session, [session, range] { in_places(session, *range, 0, true, [](Places&) { return Released{}; }); });
}

} // namespace

ReleaseReply release(Context const& context, ReleaseRequest const& request)
{
    auto const& session = context.session;
    auto const& claim = *request.claim;
    if (session->runtime->now() >= request.not_after)
        return Failure::dropped();
    auto const* const tenancy = session->tenancy_of(claim);
    if (tenancy == nullptr)
        return NotOwner{};
    bool const stays_taken = request.keep_for || claim.reuse_after.count() > 0;
    auto reply = stays_taken ? set_aside(session, request, *tenancy) : set_free(*session, claim, *tenancy);
    auto* const released = std::get_if<Released>(&reply);
    if (released == nullptr || !request.notifications)
        return reply;
    if (claim.range->shares)
        promote(session, claim.range);
    else
        released->named_another =
            announce(session, {line_of(*claim.range), {tenancy->slot}, !stays_taken, request.keep_for.has_value()});
    return reply;
}

WithdrawReply withdraw(Context const& context, WithdrawRequest const& request)
{
    auto const& session = context.session;
    if (session->runtime->now() >= request.not_after)
        return Failure::dropped();
    if (request.range->shares)
        return in_places(session, *request.range, 0, request.notifications, [&](Places& places) {
            if (auto* const place = places.find(request.owner))
                places.leave(*place);
            return Released{};
        });
    bool const rests = request.reuse_after.count() > 0;
    Released reply;
    for (auto const& segment : segments_of(*request.range)) {
        Release news{line_of(*request.range), {}, !rests};
        {
            auto const locked = session->lock(segment);
            Look look(*session);
            locked->each(segment, [&](std::uint32_t slot, RecordPair const& pair) {
                auto const& last = current(pair);
                if (last.value() != request.owner || !look.at(last).taken)
                    return true;
                auto record = last;
                if (rests)
                    record.end(resting_value(request.owner), later(look.now, request.reuse_after));
                else
                    record.end();
                locked->write(slot, pair, record);
                news.slots.push_back(slot);
                return true;
            });
        }
        if (request.notifications && !news.slots.empty())
            reply.named_another = announce(session, std::move(news)) || reply.named_another;
    }
    return reply;
}

EvictReply evict(Context const& context, EvictRequest const& request)
{
    // a person does not know how the key is held: by a plain claim or in places
    return in_places(context.session, *request.range, request.index, true, [&](Places& places) -> EvictReply {
        auto const& look = places.look();
        if (request.not_after.over(look.since))
            return Failure::dropped();
        auto* const place = places.find(request.owner);
        if (place == nullptr || read_ended_claim(request.owner))
            return NotOwner{};
        if (place->record.holds == 0) {
            places.leave(*place);
            return Evicted{std::chrono::milliseconds{0}};
        }
        // The cell stays: the holder may be renewing, and a copy of the old end would free the key under it.
        place->record.set_value("evicted/" + request.evicted_by);
        places.write(*place);
        return Evicted{time_until(place->state.until, look.now)};
    });
}

} // namespace tenure::file
