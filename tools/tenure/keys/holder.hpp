// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/style.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace tenure::tool
{

/** The public data of a key's holder. The value under the key is what releases it: its random part never leaves the
 * program. */
struct Holder {
    enum class Kind {
        nobody,
        /// a worker of tenure
        worker,
        /// the key was force-released and frees when the old validity has ended
        evicted,
        /// released, and in quarantine: it frees when that is over
        resting,
        /// its holder left it to expire: it frees when that time is over
        kept,
        /// a value with a ttl that some other software wrote, of whatever type
        other_software,
        /// a value without ttl: no lease
        foreign
    };
    Kind kind = Kind::nobody;
    /// the worker, the evictor, or the last worker of a resting or kept key; else empty
    std::string name;
    /// of a worker; empty: none
    std::string note = {};
    /// when a worker made the claim, by its own wall clock; unset: its owner text does not say
    std::optional<std::chrono::sys_seconds> claimed_at = {};
};

[[nodiscard]] Holder holder_of(KeyState const& state);

/** For a person's eye. */
[[nodiscard]] std::string describe(Holder const& holder);

/** How a terminal shows the holder. */
[[nodiscard]] Style style_of(Holder const& holder) noexcept;

/** `free`, `held`, `evicted`, `resting`, `kept` or `foreign`. */
[[nodiscard]] std::string_view state_name(Holder const& holder) noexcept;

} // namespace tenure::tool
