// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places: their keys and values, and the places as last read.
#include "places.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace tenure::etcd
{

namespace
{

constexpr std::string_view weight_mark = "\nweight=";
constexpr std::string_view capacity_mark = " capacity=";

/** Removes the places that one of these deletions has ended. */
void remove(std::vector<KeyValue>& places, std::vector<KeyValue> const& deleted)
{
    std::erase_if(places, [&](KeyValue const& place) {
        return std::ranges::any_of(deleted, [&](KeyValue const& end) {
            return end.key == place.key && end.mod_revision > place.mod_revision;
        });
    });
}

/** The revisions of this store's places that hold, or of those that wait. */
std::vector<std::uint64_t> own_places(std::vector<KeyValue> const& places, bool hold, Leases const& leases)
{
    std::vector<std::uint64_t> found;
    ShareSum sum;
    for (auto const& place : places)
        if (sum.add(read_place(place.value).share) == hold && leases.known(place.lease) != nullptr)
            found.push_back(place.create_revision);
    return found;
}

} // namespace

Keys places_of(std::string const& key)
{
    // '0' follows '/'
    return {key + '/', key + '0'};
}

std::string place_key(std::string const& key, LeaseId lease)
{
    std::array<char, 16> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), lease, 16).ptr;
    return (key + '/').append(digits.data(), end);
}

std::string_view held_in(KeyValue const& entry) noexcept
{
    // ids of leases, which are chosen at random or begin with the id of a server
    constexpr std::size_t shortest = 12;
    constexpr std::size_t longest = 16;
    std::string_view const key = entry.key;
    auto const slash = key.rfind('/');
    auto const id = slash == std::string_view::npos ? std::string_view() : key.substr(slash + 1);
    bool const place = entry.lease != 0 && slash != 0 && id.size() >= shortest && id.size() <= longest &&
                       id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    return place ? key.substr(0, slash) : key;
}

std::string place_value(std::string owner, Share const& share)
{
    if (share == Share{})
        return owner;
    owner.append(weight_mark).append(std::to_string(share.weight));
    return owner.append(capacity_mark).append(std::to_string(share.capacity));
}

PlaceValue read_place(std::string_view value) noexcept
{
    auto const end = value.find(weight_mark);
    auto const middle = end == std::string_view::npos ? end : value.find(capacity_mark, end);
    PlaceValue place{value, Share{.weight = 1, .capacity = 1}};
    if (middle == std::string_view::npos)
        return place;
    auto const begin = end + weight_mark.size();
    auto const weight = number_from<std::uint32_t>(value.substr(begin, middle - begin));
    auto const capacity = number_from<std::uint32_t>(value.substr(middle + capacity_mark.size()));
    if (weight && capacity && *weight > 0 && *weight <= *capacity && *capacity <= Share::all)
        place = {value.substr(0, end), {*weight, *capacity}};
    return place;
}

std::string entry_of(Claim const& claim)
{
    auto const* const held = static_cast<HeldKey const*>(claim.handle.get());
    return held != nullptr && held->place != nullptr ? held->place->key : claim.key();
}

std::string value_for(Claim const& claim, std::string owner)
{
    auto const* const held = static_cast<HeldKey const*>(claim.handle.get());
    return held != nullptr && held->place != nullptr ? place_value(std::move(owner), held->place->share) : owner;
}

void PlaceLines::read(Keys const& places, RangeReply& page)
{
    auto const found = lines_.find(places);
    if (found == lines_.end())
        return;
    auto& line = found->second;
    std::erase_if(line.deleted, [&](KeyValue const& end) { return end.mod_revision <= line.page.header.revision; });
    remove(page.found, line.deleted);
    if (page.header.revision >= line.page.header.revision)
        line.page = page;
}

bool PlaceLines::ended(Keys const& places, std::vector<KeyValue> const& deleted, Leases const& leases)
{
    auto& line = lines_[places];
    line.deleted.insert(line.deleted.end(), deleted.begin(), deleted.end());
    auto const waited = own_places(line.page.found, false, leases);
    remove(line.page.found, deleted);
    auto const hold = own_places(line.page.found, true, leases);
    return std::ranges::any_of(waited, [&](auto place) { return std::ranges::find(hold, place) != hold.end(); });
}

} // namespace tenure::etcd
