// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places: reading them, and changes under the lock of their key.
#include "places.hpp"

#include "store/share_sum.hpp"

#include <algorithm>
#include <array>
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

Places::Places(Session& session, KeyRange const& range, std::uint32_t index)
    : session_(session)
    , where_(places_of(range.key(index)))
    , key_(session.lock(place_of(range, index)))
    , file_(session.open(where_.stem) != nullptr ? session.lock(where_) : nullptr)
    , look_(session)
{
    plain_.slot = place_of(range, index).slot;
    plain_.record = current(key_->read(plain_.slot));
    plain_.state = look_.at(plain_.record);
    PlacesSeen seen(file_, look_);
    last_number_ = std::max(seen.last_number, plain_.record.token);
    line_ = std::move(seen.places);
    settle();
}

Place* Places::find(std::string_view owner) noexcept
{
    if (plain_.state.taken && plain_.record.value() == owner)
        return &plain_;
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
    auto const until = later(look_.now, request.lifetime());
    if (place.record.holder != session_.holder->id) {
        if (file_ == nullptr)
            file_ = session_.lock(where_);
        write_claim(session_, *file_, place.slot, file_->read(place.slot), request, look_, place.record);
    } else {
        // no other process drops it at the same time, because that needs the lock
        session_.holder->extend(std::array{OwnHolder::Extension{place.record.cell, until}});
        session_.check_intact();
    }
    place.state = {true, until};
    std::erase_if(promoted_, [&](Promoted const& one) { return one.number == place.record.token; });
}

void Places::write(Place const& place) const
{
    auto const& file = &place == &plain_ ? *key_ : *file_;
    file.write(place.slot, file.read(place.slot), place.record);
}

void Places::leave(Place& place)
{
    place.record.end();
    place.state.taken = false;
    write(place);
    settle();
}

void Places::settle()
{
    for (auto& place : line_)
        if (!place.state.taken && place.record.length != 0) {
            place.record.end();
            write(place);
        }
    std::erase_if(line_, [](Place const& place) { return !place.state.taken; });
    ShareSum sum;
    for (auto& place : line_) {
        bool const fits = sum.add(place.share());
        if (!fits || place.record.holds != 0)
            continue;
        place.record.holds = 1;
        write(place);
        promoted_.push_back({place.record.holder, place.record.token});
    }
}

} // namespace tenure::file
