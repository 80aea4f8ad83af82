// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"

#include <tenure/key_range.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tenure::tool
{

/** A group of members that share numbered shards. */
struct ShardSettings {
    /// empty: none was named
    std::string name;
    std::uint32_t count = 0;
    std::uint32_t max_members = 256;
    // -- of this member --
    std::uint32_t weight = 1;
    std::chrono::milliseconds drain{5'000};
    std::chrono::milliseconds rebalance_pause{0};

    [[nodiscard]] bool named() const noexcept { return !name.empty(); }
    /** @throws std::invalid_argument if options are missing, or have no group */
    void check() const;
    /** The keys of the members and those of the shards. @throws std::invalid_argument */
    [[nodiscard]] std::vector<KeyRangePtr> ranges() const;
};

/** `--shards`, `--count` and `--max-members`, instead of the options of `others` that the command has. */
void add_shard_options(CLI::App& command, ShardSettings& settings, std::vector<std::string> const& others);

/** The options of a member: `--weight`, `--drain` and `--rebalance-pause`. */
void add_member_options(CLI::App& command, ShardSettings& settings);

} // namespace tenure::tool
