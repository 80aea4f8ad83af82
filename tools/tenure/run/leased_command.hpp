// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"
#include "command_line/settings.hpp"
#include "run/shard_options.hpp"
#include "run/share_options.hpp"
#include "run/window.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tenure::tool
{

struct RunSettings {
    StoreSettings store;
    TargetSettings target;
    ShareSettings share;
    ShardSettings shards;
    std::chrono::milliseconds ttl{10'000};
    /// unset: 30 s, and no time for a window, which another process may have already
    std::optional<std::chrono::milliseconds> wait;
    /// 0: the library's default for the ttl
    std::optional<std::chrono::milliseconds> notice;
    /// of a pool or a lock
    std::chrono::milliseconds reuse_after{0};
    std::string note;
    /// where metrics are served; empty: nowhere
    std::string metrics;
    /// the command runs once in it
    std::optional<Window> window;

    [[nodiscard]] std::chrono::milliseconds wait_limit() const noexcept
    {
        return wait.value_or(std::chrono::seconds{window ? 0 : 30});
    }
    /** The keys that are acquired. @throws std::invalid_argument */
    [[nodiscard]] std::vector<KeyRangePtr> ranges() const;
};

/** Acquires, runs the command under what is held, releases. @return the exit code */
[[nodiscard]] int run_leased(RunSettings const& settings, Invocation const& invocation);

} // namespace tenure::tool
