// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places: shares of keys in memory.
#include "places.hpp"

#include "store/ended_claim.hpp"
#include "store/share_sum.hpp"

#include <algorithm>
#include <utility>

namespace tenure::memory
{

using std::chrono::milliseconds;

KeyState state_of(std::string const& value, std::uint64_t fencing_token, Instant since, Instant expires, Instant now)
{
    KeyState state;
    auto const ended = read_ended_claim(value);
    state.kind = ended ? ended->kind : KeyState::Kind::held;
    state.owner = ended ? ended->last_owner : value;
    state.remaining = time_until(expires, now);
    state.fencing_token = fencing_token;
    if (!ended)
        state.held_for = std::chrono::floor<milliseconds>(now - since);
    return state;
}

void Places::settle(Line& line, Instant now, News& news)
{
    std::erase_if(line, [now](Entry const& place) { return place.lapses <= now; });
    ShareSum sum;
    for (auto& place : line) {
        bool const held = std::exchange(place.holds, sum.add(place.share));
        if (place.holds && !held)
            news.push_back({place.store, place.number});
    }
}

Places::Entry* Places::find(std::string const& key, std::string const& owner, Instant now, News& news)
{
    auto const found = keys_.find(key);
    if (found == keys_.end())
        return nullptr;
    auto& line = found->second;
    settle(line, now, news);
    auto const place = std::ranges::find(line, owner, &Entry::owner);
    if (place != line.end())
        return &*place;
    if (line.empty())
        keys_.erase(found);
    return nullptr;
}

void Places::leave(std::string const& key, Entry const& place, Instant now, News& news)
{
    auto const found = keys_.find(key);
    auto& line = found->second;
    line.erase(line.begin() + (&place - line.data()));
    settle(line, now, news);
    if (line.empty())
        keys_.erase(found);
}

std::optional<milliseconds> Places::taken_for(std::string const& key, Instant now) const
{
    auto const found = keys_.find(key);
    if (found == keys_.end())
        return std::nullopt;
    auto const last = std::ranges::max(found->second, {}, &Entry::lapses).lapses;
    return last > now ? std::optional(time_until(last, now)) : std::nullopt;
}

Busy Places::busy(Line const& line, Instant now)
{
    Busy busy;
    if (!line.empty())
        busy.earliest_expiry = time_until(std::ranges::min(line, {}, &Entry::lapses).lapses, now);
    return busy;
}

ClaimReply Places::answer(Line const& line, Entry const& place, milliseconds ttl, Instant now)
{
    if (place.holds)
        return Granted{0, place.number, ttl, now, nullptr};
    auto reply = busy(line, now);
    reply.place = InLine{place.number, static_cast<std::uint32_t>(&place - line.data()), ttl, now};
    return reply;
}

ClaimReply
Places::claim(ClaimRequest const& request, StoreName store, std::uint64_t& last_number, Instant now, News& news)
{
    auto const key = request.range->key(0);
    auto* const own = find(key, request.owner, now, news);
    auto& line = keys_[key];
    if (own != nullptr) {
        own->lapses = now + request.ttl;
        std::erase_if(news, [own](Promoted const& one) { return one.number == own->number; });
        return answer(line, *own, request.ttl, now);
    }
    ShareSum sum;
    bool fits = true;
    for (auto const& place : line)
        fits = sum.add(place.share);
    fits = sum.add(*request.share) && fits;
    if (line.size() >= most_places || (!fits && request.waits == Waits::no))
        return busy(line, now);
    line.push_back({request.owner, *request.share, ++last_number, store, now, now + request.ttl, fits});
    return answer(line, line.back(), request.ttl, now);
}

RenewReply Places::renew(RenewRequest const& request, Instant now)
{
    // the next claim or release announces the places that hold since then
    auto const found = keys_.find(request.claim->key());
    if (found == keys_.end())
        return NotOwner{};
    auto const place = std::ranges::find(found->second, request.claim->owner, &Entry::owner);
    if (place == found->second.end() || place->lapses <= now || !place->holds)
        return NotOwner{};
    place->lapses = now + request.ttl;
    return Renewed{request.ttl, now};
}

ReleaseReply Places::release(ReleaseRequest const& request, Instant now, News& news)
{
    auto const key = request.claim->key();
    auto const& owner = request.claim->owner;
    if (request.keep_for && find(key, kept_value(owner), now, news) != nullptr)
        return Released{};
    auto* const place = find(key, owner, now, news);
    if (place == nullptr)
        return NotOwner{};
    if (!request.keep_for) {
        leave(key, *place, now, news);
    } else {
        place->owner = kept_value(owner);
        if (*request.keep_for > milliseconds{0})
            place->lapses = now + *request.keep_for;
    }
    return Released{};
}

bool Places::withdraw(std::string const& key, std::string const& owner, Instant now, News& news)
{
    auto const* const place = find(key, owner, now, news);
    if (place == nullptr)
        return false;
    leave(key, *place, now, news);
    return true;
}

void Places::list(std::string_view prefix, std::vector<std::string>& keys) const
{
    for (auto const& [key, line] : keys_)
        if (key.starts_with(prefix))
            keys.push_back(key);
}

EvictReply Places::evict(EvictRequest const& request, Instant now, News& news)
{
    auto const key = request.range->key(0);
    auto* const place = find(key, request.owner, now, news);
    if (place == nullptr)
        return NotOwner{};
    if (!place->holds) {
        leave(key, *place, now, news);
        return Evicted{milliseconds{0}};
    }
    place->owner = "evicted/" + request.evicted_by;
    return Evicted{time_until(place->lapses, now)};
}

std::optional<KeyState> Places::inspect(std::string const& key, Instant now) const
{
    auto const found = keys_.find(key);
    if (found == keys_.end())
        return std::nullopt;
    KeyState state;
    ShareSum sum;
    for (auto const& place : found->second) {
        if (place.lapses <= now)
            continue;
        if (state.places.empty())
            state = state_of(place.owner, place.number, place.entered, place.lapses, now);
        auto const& [weight, capacity] = place.share;
        state.places.push_back(
            {place.owner, weight, capacity, place.number, time_until(place.lapses, now), sum.add(place.share)});
    }
    if (state.places.empty())
        return std::nullopt;
    return state;
}

void Places::sweep(Instant now)
{
    std::erase_if(keys_, [&](auto const& one) { return !taken_for(one.first, now); });
}

} // namespace tenure::memory
