// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"
#include "command_line/settings.hpp"

#include <tenure/key_range.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::tool
{

/** How the one lock of a command is held. */
struct ShareSettings {
    enum class Kind { plain, fair, shared, exclusive, semaphore };

    Kind kind = Kind::plain;
    /// of a semaphore: how many there are, and how many of them the command takes
    std::uint32_t permits = 0;
    std::uint32_t take = 1;

    /** Waiters have places in the store. */
    [[nodiscard]] bool has_places() const noexcept { return kind != Kind::plain; }
    /** For a person: `lock` or `semaphore`. */
    [[nodiscard]] std::string_view noun() const noexcept { return kind == Kind::semaphore ? "semaphore" : "lock"; }
    /** @throws std::invalid_argument if options are missing, or too many */
    void check() const;
};

/** `--fair`, `--shared`, `--exclusive` and `--semaphore`, of which one names the lock instead of `--lock`. */
void add_share_options(CLI::App& command, ShareSettings& settings, TargetSettings& target);

} // namespace tenure::tool
