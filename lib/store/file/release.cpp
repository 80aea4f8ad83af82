// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Releases, withdrawals and evictions.
#include "operations.hpp"

#include "store/ended_claim.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace tenure::file
{

namespace
{

/** The record of a key whose claim has ended.
 *  @param value  empty: the key is free */
Record ended(Record const& last, std::string_view value = {}, BootTime until = 0)
{
    Record record;
    record.token = last.token;
    record.granted = last.granted;
    record.until = until;
    record.set_value(value);
    return record;
}

Failure cannot_write(Session const& session)
{
    return failed_call(errno, "cannot write a record in " + session.directory().path());
}

BootTime later(BootTime now, std::chrono::milliseconds time)
{
    return now + std::chrono::nanoseconds(time).count();
}

/** Tells waiters and observers of a release. Released in any case: the release itself is done. */
store::Request<ReleaseReply> tell(Context context, LinePlace place, Line::Release release)
{
    auto& session = *context.session;
    auto const found = session.ranges().find(place.stem);
    auto const* const file = std::get_if<RangeFilePtr>(&found);
    if (file == nullptr || *file == nullptr || Line(*file).empty())
        co_return Released{};
    auto locking = session.lock(place.stem, line_area);
    auto locked = co_await locking;
    Line line(locked.file());
    release.line = place.line;
    auto const news = line.released(release, [&session](HolderId const& id) { return session.is_alive(id); });
    locked.unlock();
    for (auto const& id : news.wake)
        session.wake(id);
    Released reply;
    for (auto const& id : news.named)
        reply.named_another = reply.named_another || id != session.holder().id();
    co_return reply;
}

/** As the answer to a release that was done: without the news, waiters learn it later. */
ReleaseReply done(ReleaseReply told)
{
    return std::holds_alternative<Failure>(told) ? Released{} : std::move(told);
}

/** Frees a key without a lock: its record names a cell that has ended. Unset: the key is free. */
std::optional<ReleaseReply> free_key(Session& session, Segment const& place, Claim const& claim, Tenancy const& tenancy)
{
    auto const found = session.ranges().find(place.stem);
    if (auto const* const failure = std::get_if<Failure>(&found))
        return *failure;
    auto const& file = std::get<RangeFilePtr>(found);
    std::vector<RecordPair> pairs;
    if (file == nullptr || !file->read(place.slot, 1, pairs) ||
        !names(current(pairs[0]), session.holder(), tenancy, claim.owner))
        return NotOwner{};
    if (!session.holder().end(tenancy))
        return failed_call(errno, "cannot write the holder file");
    return std::nullopt;
}

} // namespace

store::Request<ReleaseReply> release(Context context, ReleaseRequest request)
{
    auto& session = *context.session;
    auto const& claim = *request.claim;
    if (session.runtime().now() >= request.not_after)
        co_return Failure::dropped();
    auto const* const tenancy = session.tenancy_of(claim);
    if (tenancy == nullptr)
        co_return NotOwner{};
    auto const place = place_of(*claim.range, claim.index);
    auto const until = session.holder().until(*tenancy);
    bool const held = until && session.now() < *until;
    bool const stays_taken = request.keep_for || claim.reuse_after.count() > 0;
    if (!stays_taken) {
        if (!held)
            co_return NotOwner{};
        if (auto reply = free_key(session, place, claim, *tenancy))
            co_return std::move(*reply);
    } else {
        auto locking = session.lock(place.stem, records(place.slot, 1));
        auto locked = co_await locking;
        std::vector<RecordPair> pairs;
        if (!locked.file()->read(place.slot, 1, pairs))
            co_return cannot_write(session);
        auto const& last = current(pairs[0]);
        auto const now = session.now();
        auto const kept = kept_value(claim.owner);
        if (request.keep_for && last.value() == kept && now < last.until)
            co_return Released{};
        auto const end = session.holder().until(*tenancy);
        if (!end || now >= *end || !names(last, session.holder(), *tenancy, claim.owner))
            co_return NotOwner{};
        auto const kept_until =
            request.keep_for.value_or(std::chrono::milliseconds{}).count() > 0 ? later(now, *request.keep_for) : *end;
        auto const record = request.keep_for ? ended(last, kept, kept_until)
                                             : ended(last, resting_value(claim.owner), later(now, claim.reuse_after));
        if (!locked.file()->write(place.slot, pairs[0], record))
            co_return cannot_write(session);
        session.holder().forget(*tenancy);
    }
    if (!request.notifications)
        co_return Released{};
    Line::Release news;
    news.slots.push_back(place.slot);
    news.names = stays_taken ? 0 : 1;
    news.observers_only = request.keep_for.has_value();
    auto telling = store::as_step(tell(context, line_of(*claim.range), std::move(news)));
    auto told = co_await telling;
    co_return done(std::move(told));
}

store::Request<WithdrawReply> withdraw(Context context, WithdrawRequest request)
{
    auto& session = *context.session;
    if (session.runtime().now() >= request.not_after)
        co_return Failure::dropped();
    bool const rests = request.reuse_after.count() > 0;
    Line::Release news;
    for (auto const& segment : segments_of(*request.range)) {
        auto locking = session.lock(segment.stem, records(segment.slot, segment.count));
        auto locked = co_await locking;
        auto const now = session.now();
        session.others().begin(true);
        std::vector<RecordPair> pairs;
        for (std::uint32_t slot = 0; slot < segment.count; ++slot) {
            constexpr std::uint32_t page = 1024;
            if (slot % page == 0 &&
                !locked.file()->read(segment.slot + slot, std::min(page, segment.count - slot), pairs))
                co_return cannot_write(session);
            auto const& last = current(pairs[slot % page]);
            if (last.value() != request.owner || !session.look(last, now).taken)
                continue;
            auto const record =
                rests ? ended(last, resting_value(request.owner), later(now, request.reuse_after)) : ended(last);
            if (!locked.file()->write(segment.slot + slot, pairs[slot % page], record))
                co_return cannot_write(session);
            news.slots.push_back(segment.slot + slot);
        }
    }
    if (!request.notifications || news.slots.empty())
        co_return Released{};
    news.names = rests ? 0 : news.slots.size();
    auto telling = store::as_step(tell(context, line_of(*request.range), std::move(news)));
    auto told = co_await telling;
    auto const* const released = std::get_if<Released>(&told);
    co_return released != nullptr ? *released : Released{};
}

store::Request<EvictReply> evict(Context context, EvictRequest request)
{
    auto& session = *context.session;
    if (request.not_after.over(session.runtime().now()))
        co_return Failure::dropped();
    auto const place = place_of(*request.range, request.index);
    auto locking = session.lock(place.stem, records(place.slot, 1));
    auto locked = co_await locking;
    auto const now = session.now();
    session.others().begin(false);
    std::vector<RecordPair> pairs;
    if (!locked.file()->read(place.slot, 1, pairs))
        co_return cannot_write(session);
    auto record = current(pairs[0]);
    auto const state = session.look(record, now);
    if (!state.taken || record.value() != request.owner || read_ended_claim(record.value()))
        co_return NotOwner{};
    // The cell stays: the holder may be renewing, and a copy of the old end would free the key under it.
    record.set_value("evicted/" + request.evicted_by);
    if (!locked.file()->write(place.slot, pairs[0], record))
        co_return cannot_write(session);
    Evicted reply;
    if (state.until)
        reply.remaining = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(*state.until - now));
    co_return reply;
}

} // namespace tenure::file
