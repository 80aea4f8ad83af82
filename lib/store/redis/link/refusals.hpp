// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>

namespace tenure::redis
{

/** What a server, or a proxy in front of it, does not do for the user of the connection. Learned from its answers, and
 *  not asked for again until the next login: server, user or permissions may be others by then. */
class Refusals
{
public:
    enum class Of : std::uint8_t {
        /// messages to waiters
        publish = 1U << 0U,
        /// messages by a script: they need a command of their own
        publish_in_scripts = 1U << 1U,
        /// the line of waiters
        line = 1U << 2U,
        /// the key of observers
        watched = 1U << 3U,
        /// commands that compare before they write
        native = 1U << 4U,
        /// transactions with a script
        transactions = 1U << 5U,
        /// scripts in which a command names several entries of KEYS, or another key
        free_scripts = 1U << 6U,
    };

    [[nodiscard]] bool include(Of what) const noexcept { return ((refused_ | for_good_) & bit(what)) != 0; }

    /** @returns true the first time in the life of this object: it is to be logged */
    bool note(Of what) noexcept
    {
        refused_ |= bit(what);
        bool const first = (noted_ & bit(what)) == 0;
        noted_ |= bit(what);
        return first;
    }

    /** As `note`, for a refusal that ends the connection: later logins do not ask either. */
    bool note_for_good(Of what) noexcept
    {
        for_good_ |= bit(what);
        return note(what);
    }

    /** The connection has logged in again. */
    void logged_in() noexcept { refused_ = 0; }

private:
    [[nodiscard]] static constexpr unsigned bit(Of what) noexcept { return static_cast<unsigned>(what); }

    /// since the last login
    unsigned refused_ = 0;
    unsigned for_good_ = 0;
    unsigned noted_ = 0;
};

} // namespace tenure::redis
