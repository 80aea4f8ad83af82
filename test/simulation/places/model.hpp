// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tenure::simulation
{

/** The places of one key by the definition of the rule: nothing is counted in advance. */
struct PlaceModel {
    struct Entry {
        std::string owner;
        std::uint64_t number = 0;
        std::int64_t ends = 0;
        std::int64_t ttl = 0;
        std::uint64_t weight = 1;
        std::uint64_t capacity = 1;
        std::string store;
        bool holds = false;
    };
    std::vector<Entry> places;

    [[nodiscard]] Entry* find(std::string const& owner)
    {
        auto const found = std::ranges::find(places, owner, &Entry::owner);
        return found == places.end() ? nullptr : &*found;
    }
    [[nodiscard]] bool fits(std::uint64_t weight, std::uint64_t capacity) const
    {
        std::uint64_t sum = weight;
        auto least = capacity;
        for (auto const& place : places) {
            sum += place.weight;
            least = std::min(least, place.capacity);
        }
        return sum <= least;
    }
    /** Drops what has lapsed. @returns name and number of the places that hold since then */
    std::vector<std::string> settle(std::int64_t now, bool closed)
    {
        std::vector<std::string> news;
        std::erase_if(places, [now](Entry const& place) { return place.ends <= now; });
        std::uint64_t sum = 0;
        auto least = std::numeric_limits<std::uint64_t>::max();
        for (auto& place : places) {
            sum += place.weight;
            least = std::min(least, place.capacity);
            if (place.holds || closed || sum > least)
                continue;
            place.holds = true;
            news.push_back(place.store + ":" + std::to_string(place.number));
        }
        return news;
    }
};

} // namespace tenure::simulation
