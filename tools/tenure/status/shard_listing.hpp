// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "status/slot_listing.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::tool
{

/** The listing of `tenure status --shards`: which member of a group owns which shards. */
struct ShardListing {
    /** What one program holds. */
    struct Member {
        /// as `describe(Holder)`; a program that is known by the same name as another one is shown as one with it
        std::string holder;
        std::string note;
        /// several, if it has a weight; none, if it holds shards without being a member
        std::vector<std::uint32_t> numbers;
        std::vector<std::uint32_t> shards;
        /// its first number, or else its first shard
        std::optional<std::chrono::milliseconds> held_for;
    };

    /** @param keys  of two ranges: the members, and the shards */
    explicit ShardListing(SlotListing const& keys);

    std::string store;
    /// the prefix of the shards
    std::string title;
    std::size_t count = 0;
    /// by their first numbers; those without a number last
    std::vector<Member> members;
    /// shards that nothing holds
    std::vector<std::uint32_t> unowned;
    /// positions of keys that could not be read, and why
    std::vector<std::string> unread;
};

/** `0-3, 7`. */
[[nodiscard]] std::string spans(std::vector<std::uint32_t> const& numbers);

[[nodiscard]] std::string as_table(ShardListing const& listing, TableLook look = {});
/** One JSON object on one line. */
[[nodiscard]] std::string as_json(ShardListing const& listing);

} // namespace tenure::tool
