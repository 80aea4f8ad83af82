// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace tenure::tool
{

/** A time within which a command is to run once: from the grant of its lock, or for an occurrence that has a name. */
class Window
{
public:
    /** @param at  any instant of the occurrence; unset: the window begins with the grant */
    Window(std::chrono::milliseconds length, std::optional<std::chrono::sys_seconds> at) noexcept;

    /** @throws std::invalid_argument if the store cannot keep a key for this time, or cannot detach */
    void check(Store const& store) const;

    [[nodiscard]] bool names_occurrence() const noexcept { return at_.has_value(); }

    /** The key of a lock of this name: of an occurrence NAME/BEGINNING, its beginning in milliseconds since 1970. */
    [[nodiscard]] std::string key_for(std::string const& name) const;

    /** How long the key has to stay taken after the command's success: what is left of the window, and of an occurrence
     * its whole length. 0 or less: the window is over. */
    [[nodiscard]] std::chrono::milliseconds rest(Instant granted, Instant now) const noexcept;

    /** Why the command does not run here, as the key of a lock of this name shows it. */
    [[nodiscard]] std::string describe_refusal(std::string const& name, KeyState const& state) const;

    /** A command took longer than the window: says so. */
    [[nodiscard]] std::string describe_overrun(std::chrono::milliseconds taken) const;

private:
    /** `nightly`, or `nightly of 2026-01-31T02:00:00Z`. */
    [[nodiscard]] std::string subject(std::string const& name) const;

    std::chrono::milliseconds length_;
    std::optional<std::chrono::sys_seconds> at_;
};

} // namespace tenure::tool
