// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests for keys that are held in places (backend::Share). Renewals are those of plain keys.
#include "places.hpp"
#include "store/ended_claim.hpp"

#include <tenure/errc.hpp>

#include <chrono>
#include <memory>
#include <set>
#include <utility>

namespace tenure::file
{

namespace
{

/** Runs steps on the places of a key. Then tells the stores of those that hold since then, and observers.
 *  @param tells_always  observers hear of it although no place has been promoted */
template <class Steps>
auto in_places(SessionPtr const& session, KeyRange const& range, bool tells_always, Steps steps)
{
    std::vector<Promoted> promoted;
    auto reply = [&] {
        Places places(*session, range);
        auto result = steps(places);
        promoted = places.promoted();
        return result;
    }();
    if (tells_always || !promoted.empty())
        tell(session, line_of(range).stem, [promoted = std::move(promoted)](Line& line) { line.promoted(promoted); });
    return reply;
}

Busy busy_of(Places const& places)
{
    std::optional<BootTime> earliest;
    for (auto const& place : places.line())
        if (auto const until = place.state.until)
            earliest = std::min(earliest.value_or(*until), *until);
    return busy_until(earliest, places.look().now);
}

/** Takes a place, or keeps the one that the owner has. */
ClaimReply claim_in(Session& session, Places& places, ClaimRequest const& request)
{
    auto const& look = places.look();
    if (request.not_after.over(look.since))
        return Failure::dropped();
    if (places.plain().taken)
        return busy_until(places.plain().until, look.now);
    auto* place = places.find(request.owner);
    if (place == nullptr) {
        place = places.enter(request);
    } else if (place->record.holder != session.holder->id) {
        places.take(*place, request); // another store has asked for it before
    } else {
        // no other process drops it at the same time, because that needs the lock
        place->state.until = look.now + std::chrono::nanoseconds(request.ttl).count();
        session.holder->extend(std::vector{OwnHolder::Extension{place->record.cell, *place->state.until}});
        session.check_intact();
    }
    if (place == nullptr)
        return busy_of(places);
    auto const& record = place->record;
    auto handle = std::make_shared<Tenancy>(Tenancy{session.holder, record.cell, record.claim, place->slot});
    places.answered(*place);
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

} // namespace

ClaimReply claim_share(Context const& context, ClaimRequest const& request)
{
    auto const& session = context.session;
    session->sweep();
    std::set<HolderId> followed;
    auto reply = in_places(session, *request.range, false, [&](Places& places) {
        auto answer = claim_in(*session, places, request);
        if (auto const* const busy = std::get_if<Busy>(&answer); busy != nullptr && busy->place)
            followed = awaited(places, busy->place->ahead);
        return answer;
    });
    context.watches->follow(followed);
    return reply;
}

void promote(SessionPtr const& session, KeyRangePtr const& range)
{
    attempt(session, [session, range] { in_places(session, *range, true, [](Places&) { return Released{}; }); });
}

ReleaseReply keep_place(SessionPtr const& session, ReleaseRequest const& request, Tenancy const& tenancy)
{
    auto const& owner = request.claim->owner;
    return in_places(session, *request.claim->range, request.notifications, [&](Places& places) -> ReleaseReply {
        if (places.find(kept_value(owner)) != nullptr)
            return Released{};
        auto* const place = places.find(owner);
        if (place == nullptr || !names(place->record, tenancy, owner))
            return NotOwner{};
        bool const extends = request.keep_for->count() > 0;
        auto const end = extends ? later(places.look().now, *request.keep_for) : *place->state.until;
        places.write(*place, ended(place->record, kept_value(owner), end));
        session->holder->end(tenancy);
        return Released{};
    });
}

WithdrawReply withdraw_place(SessionPtr const& session, WithdrawRequest const& request)
{
    return in_places(session, *request.range, request.notifications, [&](Places& places) {
        if (auto const* const place = places.find(request.owner))
            places.leave(*place);
        return Released{};
    });
}

EvictReply evict_place(SessionPtr const& session, EvictRequest const& request)
{
    if (session->find(places_of(request.range->prefix).stem) == nullptr)
        return NotOwner{};
    return in_places(session, *request.range, true, [&](Places& places) -> EvictReply {
        auto const& look = places.look();
        if (request.not_after.over(look.since))
            return Failure::dropped();
        auto* const place = places.find(request.owner);
        if (place == nullptr || read_ended_claim(place->record.value()))
            return NotOwner{};
        if (place->record.holds == 0) {
            places.leave(*place);
            return Evicted{std::chrono::milliseconds{0}};
        }
        // as a plain key: its end stays in its cell
        auto record = place->record;
        record.set_value("evicted/" + request.evicted_by);
        places.write(*place, record);
        auto const& until = place->state.until;
        return Evicted{until ? std::optional(time_until(*until, look.now)) : std::nullopt};
    });
}

} // namespace tenure::file
