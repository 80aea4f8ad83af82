// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Releases, withdrawals and evictions.
#include "operations.hpp"
#include "store/ended_claim.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace tenure::file
{

namespace
{

/** Frees a key or place without a lock: its record names a cell that has ended. */
ReleaseReply set_free(Session& session, Claim const& claim, Tenancy const& tenancy)
{
    auto const range = session.find(records_of(claim).stem);
    if (range == nullptr || !names(current(range->read(tenancy.slot)), tenancy, claim.owner))
        return NotOwner{};
    session.holder->end(tenancy);
    return Released{};
}

/** Lets a key rest, or keeps it. */
ReleaseReply set_aside(Session& session, ReleaseRequest const& request, Tenancy const& tenancy)
{
    auto const& claim = *request.claim;
    auto const place = records_of(claim);
    auto const locked = session.lock(place);
    auto const now = session.now();
    auto const pair = locked->read(place.slot);
    auto const& last = current(pair);
    auto const kept = kept_value(claim.owner);
    if (request.keep_for && last.value() == kept && now < last.until)
        return Released{};
    auto const end = session.holder->until(tenancy.cell, tenancy.claim);
    if (!end || now >= *end || !names(last, tenancy, claim.owner))
        return NotOwner{};
    if (request.keep_for)
        locked->write(
            place.slot, pair, ended(last, kept, request.keep_for->count() > 0 ? later(now, *request.keep_for) : *end));
    else
        locked->write(place.slot, pair, ended(last, resting_value(claim.owner), later(now, claim.reuse_after)));
    session.holder->end(tenancy);
    return Released{};
}

/** Tells waiters and observers. True: a waiter of another store is named. */
bool announce(SessionPtr const& session, Release news)
{
    auto const stem = news.line.stem;
    return tell(session, stem, [news = std::move(news)](Line& line) { line.released(news); });
}

} // namespace

Record ended(Record const& last, std::string_view value, BootTime until)
{
    auto record = last;
    record.claim = 0;
    record.until = until;
    record.reuse_after = 0;
    record.holder = {};
    record.cell = 0;
    record.set_value(value);
    return record;
}

ReleaseReply release(Context const& context, ReleaseRequest const& request)
{
    auto const& session = context.session;
    auto const& claim = *request.claim;
    if (session->runtime->now() >= request.not_after)
        return Failure::dropped();
    auto const* const tenancy = session->tenancy_of(claim);
    if (tenancy == nullptr)
        return NotOwner{};
    auto const end = session->holder->until(tenancy->cell, tenancy->claim);
    bool const stays_taken = request.keep_for || claim.reuse_after.count() > 0;
    if (!stays_taken && (!end || session->now() >= *end))
        return NotOwner{};
    bool const shares = claim.range->shares;
    if (shares && request.keep_for)
        return keep_place(session, request, *tenancy);
    auto reply = stays_taken ? set_aside(*session, request, *tenancy) : set_free(*session, claim, *tenancy);
    auto* const released = std::get_if<Released>(&reply);
    if (released == nullptr || !request.notifications)
        return reply;
    if (shares)
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
        return withdraw_place(session, request);
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
                locked->write(
                    slot, pair,
                    rests ? ended(last, resting_value(request.owner), later(look.now, request.reuse_after))
                          : ended(last, {}, 0));
                news.slots.push_back(slot);
                return true;
            });
        }
        if (request.notifications && !news.slots.empty())
            reply.named_another = announce(session, std::move(news)) || reply.named_another;
    }
    return reply;
}

namespace
{

/** Unset: the key has no plain claim. */
std::optional<EvictReply> evict_plain(Session& session, EvictRequest const& request)
{
    auto const place = place_of(*request.range, request.index);
    auto const locked = session.lock(place);
    Look look(session);
    if (request.not_after.over(look.since))
        return Failure::dropped();
    auto const pair = locked->read(place.slot);
    auto record = current(pair);
    auto const state = look.at(record);
    if (!state.taken)
        return std::nullopt;
    if (record.value() != request.owner || read_ended_claim(record.value()))
        return NotOwner{};
    // The cell stays: the holder may be renewing, and a copy of the old end would free the key under it.
    record.set_value("evicted/" + request.evicted_by);
    locked->write(place.slot, pair, record);
    return Evicted{state.until ? std::optional(time_until(*state.until, look.now)) : std::nullopt};
}

} // namespace

EvictReply evict(Context const& context, EvictRequest const& request)
{
    if (!request.range->shares)
        if (auto reply = evict_plain(*context.session, request))
            return *reply;
    // a person does not know how the key is held
    auto of_place = request;
    of_place.range = shared_key(request.range->key(request.index));
    return evict_place(context.session, of_place);
}

} // namespace tenure::file
