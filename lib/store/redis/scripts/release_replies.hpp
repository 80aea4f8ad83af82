// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for replies of the releasing scripts (see scripts.hpp). Each accepts any input and returns nullopt for a
// malformed reply. The results are views of the reply.
#pragma once

#include "store/redis/wire/value.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tenure::redis
{

/** Parts of the reply that all releasing scripts have. */
struct ReleaseNotes {
    /// the server's error text; empty: publishing was not refused
    std::string_view publish_refusal;
    /// the server's error text; empty: the line was not refused
    std::string_view line_refusal;
    /// a text for each range; or none: no waiter is to be notified
    std::span<resp::Value const> messages;

    /** The message for the waiters of a range; empty: none. */
    [[nodiscard]] std::string_view message(std::size_t range) const
    {
        return range < messages.size() ? messages[range].as_string() : std::string_view();
    }
};

struct ReleaseFlags {
    /// '0' or '1' for each key
    std::string_view keys;
    ReleaseNotes notes;
};
/** Reads the answer for `keys` keys, of which some are in `ranges` ranges with waiters. */
[[nodiscard]] std::optional<ReleaseFlags>
read_release_flags(resp::Value const& reply, std::size_t keys, std::size_t ranges);

struct WithdrawnKeys {
    std::uint32_t count = 0;
    ReleaseNotes notes;
};
/** Reads the answer to a withdrawal. */
[[nodiscard]] std::optional<WithdrawnKeys> read_withdrawn_keys(resp::Value const& reply);

/** The store that a message names for the freed key at this position; empty: none. */
[[nodiscard]] std::string_view name_in(std::string_view message, std::size_t position) noexcept;

/** True if the message names another store than this one. */
[[nodiscard]] bool names_another(std::string_view message, std::string_view name) noexcept;

} // namespace tenure::redis
