// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places: reading them, and changes under the lock of their key.
#include "places.hpp"

#include "store/share_sum.hpp"

#include <algorithm>
#include <bitset>

namespace tenure::file
{

PlacesSeen::PlacesSeen(RangeFilePtr const& file, Look& look)
{
    if (file == nullptr)
        return;
    Segment const all{{}, 0, std::min(file->slots(), most_places)};
    file->each(all, [&](std::uint32_t slot, RecordPair const& pair) {
        auto const& record = current(pair);
        last_number = std::max(last_number, record.token);
        if (record.length != 0)
            places.push_back({slot, record, look.at(record)});
        return true;
    });
    auto const number = [](Place const& place) { return place.record.token; };
    // mostly they are in order, because each takes the first free slot
    if (!std::ranges::is_sorted(places, {}, number))
        std::ranges::sort(places, {}, number);
}

Occupancy PlacesSeen::occupancy() const noexcept
{
    Occupancy all;
    for (auto const& [slot, record, state] : places)
        if (state.taken)
            all = {true, std::max(all.until, state.until)};
    return all;
}

Places::Places(Session& session, KeyRange const& range)
    : session_(session)
    , key_(session.lock(place_of(range, 0)))
    , file_(session.lock(places_of(range.prefix)))
    , look_(session)
{
    auto const pair = key_->read(place_of(range, 0).slot);
    PlacesSeen seen(file_, look_);
    plain_ = look_.at(current(pair));
    last_number_ = std::max(seen.last_number, current(pair).token);
    line_ = std::move(seen.places);
    settle();
}

Place* Places::find(std::string_view owner) noexcept
{
    auto const found = std::ranges::find(line_, owner, [](Place const& place) { return place.record.value(); });
    return found != line_.end() ? &*found : nullptr;
}

Place* Places::enter(ClaimRequest const& request)
{
    ShareSum sum;
    std::bitset<most_places> used;
    for (auto const& place : line_) {
        sum.add(place.share());
        used.set(place.slot);
    }
    // it fits behind all, or not at all
    bool const fits = sum.add(*request.share);
    if (used.all() || (!fits && request.waits == Waits::no))
        return nullptr;
    Place place;
    while (used.test(place.slot))
        ++place.slot;
    last_number_ = next_token(last_number_);
    place.record.token = last_number_;
    place.record.weight = request.share->weight;
    place.record.capacity = request.share->capacity;
    place.record.holds = fits ? 1 : 0;
    take(place, request);
    return &line_.emplace_back(std::move(place));
}

void Places::take(Place& place, ClaimRequest const& request)
{
    auto const tenancy =
        write_claim(session_, *file_, place.slot, file_->read(place.slot), request, look_, place.record);
    place.state = {true, session_.holder->until(tenancy->cell, tenancy->claim)};
}

void Places::write(Place& place, Record const& record) const
{
    file_->write(place.slot, file_->read(place.slot), record);
    place.record = record;
}

void Places::leave(Place const& place)
{
    line_[ahead_of(place)].state.taken = false;
    settle();
}

void Places::answered(Place const& place)
{
    std::erase_if(promoted_, [&](Promoted const& one) { return one.number == place.record.token; });
}

void Places::settle()
{
    for (auto& place : line_)
        if (!place.state.taken)
            write(place, ended(place.record, {}, 0));
    std::erase_if(line_, [](Place const& place) { return !place.state.taken; });
    ShareSum sum;
    for (auto& place : line_) {
        bool const fits = sum.add(place.share());
        if (!fits || place.record.holds != 0)
            continue;
        auto record = place.record;
        record.holds = 1;
        write(place, record);
        promoted_.push_back({record.holder, record.token});
    }
}

} // namespace tenure::file
