// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for replies of the scripts of places.
#include "replies.hpp"

#include "store/redis/replies.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

using Parts = std::span<resp::Value const>;
using Kind = PlaceAnswer::Kind;

std::optional<PlaceAnswer> read_held(Parts parts)
{
    auto const number = parts.size() == 3 ? read_token(parts[1]) : std::nullopt;
    if (!number || !parts[2].is_string())
        return std::nullopt;
    return PlaceAnswer{.kind = Kind::held, .number = *number, .note = parts[2].as_string()};
}

/** Reads {kind, number or "", places ahead, ms}, and of busy answers a note. */
std::optional<PlaceAnswer> read_waiting(Parts parts, Kind kind)
{
    if (parts.size() != (kind == Kind::busy ? 5U : 4U) || !parts[1].is_string() || !parts[2].is_integer() ||
        !parts[3].is_integer())
        return std::nullopt;
    PlaceAnswer answer{.kind = kind};
    bool const has_place = !parts[1].as_string().empty();
    auto const number = has_place ? read_token(parts[1]) : std::optional<std::uint64_t>(0);
    auto const ahead = parts[2].as_integer();
    auto const until = parts[3].as_integer();
    if (!number || ahead < 0 || ahead > 0xffff || until < 0)
        return std::nullopt;
    answer.number = *number;
    answer.ahead = static_cast<std::uint32_t>(ahead);
    answer.until = at_most_a_year(until);
    if (kind == Kind::busy)
        answer.note = parts[4].as_string();
    return answer;
}

std::optional<PlaceAnswer> read_other(Parts parts)
{
    if (parts.size() != 2 || !parts[1].is_integer() || parts[1].as_integer() < -1)
        return std::nullopt;
    PlaceAnswer answer{.kind = Kind::other};
    if (parts[1].as_integer() >= 0)
        answer.until = at_most_a_year(parts[1].as_integer());
    return answer;
}

/** Reads numbers that are separated by blanks. */
template <std::size_t count>
std::optional<std::array<std::uint64_t, count>> read_numbers(std::string_view text)
{
    std::array<std::uint64_t, count> numbers{};
    for (auto& number : numbers) {
        auto const word = text.substr(0, text.find(' '));
        auto const read = number_from<std::uint64_t>(word);
        if (!read)
            return std::nullopt;
        number = *read;
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return text.empty() ? std::optional(numbers) : std::nullopt;
}

/** The owner as it is shown: the places that one person has taken away are told apart by their numbers. */
std::string shown_owner(std::string_view owner)
{
    return std::string(owner.starts_with("evicted/") ? owner.substr(0, owner.rfind('/')) : owner);
}

} // namespace

std::optional<PlaceAnswer> read_place_answer(resp::Value const& reply)
{
    auto const parts = reply.elements();
    auto const kind = parts.empty() ? std::string_view() : parts[0].as_string();
    if (kind == "held")
        return read_held(parts);
    if (kind == "busy")
        return read_waiting(parts, Kind::busy);
    if (kind == "closed")
        return read_waiting(parts, Kind::closed);
    if (kind == "other")
        return read_other(parts);
    return std::nullopt;
}

std::optional<LeftPlaces> read_left_places(resp::Value const& reply, std::size_t places)
{
    LeftPlaces left;
    if (reply.is_list()) {
        auto const parts = reply.elements();
        if (parts.size() != places + 1 || !std::ranges::all_of(parts, &resp::Value::is_string))
            return std::nullopt;
        left.notes = parts.subspan(1);
        left.flags = parts.front().as_string();
    } else {
        left.flags = reply.as_string();
    }
    bool const understood = left.flags.size() == places && left.flags.find_first_not_of("01") == std::string_view::npos;
    return understood ? std::optional(left) : std::nullopt;
}

std::optional<ReplacedOwner> read_replaced_owner(resp::Value const& reply)
{
    auto const parts = reply.elements();
    if (parts.size() != 2 || !parts[0].is_integer() || !parts[1].is_string())
        return std::nullopt;
    auto const left = parts[0].as_integer();
    if (left < 0 && left != -2)
        return std::nullopt;
    ReplacedOwner replaced{std::nullopt, parts[1].as_string()};
    if (left >= 0)
        replaced.remaining = at_most_a_year(left);
    return replaced;
}

std::optional<std::vector<Place>> read_places(resp::Value const& list)
{
    auto const parts = list.elements();
    if (parts.size() % 2 != 0)
        return std::nullopt;
    std::vector<Place> places;
    for (std::size_t at = 0; at < parts.size(); at += 2) {
        auto const numbers = read_numbers<5>(parts[at + 1].as_string());
        if (!numbers)
            return std::nullopt;
        auto const& [number, left, weight, capacity, position] = *numbers;
        if (weight > backend::Share::all || capacity > backend::Share::all || left > 1'000'000'000'000)
            return std::nullopt;
        places.push_back(
            {shown_owner(parts[at].as_string()), static_cast<std::uint32_t>(weight),
             static_cast<std::uint32_t>(capacity), number, std::chrono::milliseconds(left), position == 0});
    }
    std::ranges::sort(places, {}, [](Place const& place) { return std::pair(!place.holds, place.fencing_token); });
    // a place that would hold if a script removed the lapsed ones ahead of it holds
    std::uint64_t sum = 0;
    auto least = backend::Share::all;
    bool waits = false;
    for (auto& place : places) {
        sum += place.weight;
        least = std::min(least, place.capacity);
        place.holds = place.holds || (!waits && sum <= least);
        waits = waits || !place.holds;
    }
    return places;
}

} // namespace tenure::redis
