// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tenure
{

/** The readable parts of an owner, the value of a held key; see "Owner" in docs/integrators/redis-protocol.md. It
 * excludes the random part, which is the holder's secret. */
struct OwnerText {
    /// `StoreOptions::worker_name` of the holder
    std::string worker;
    /// `LockConfig::note` or `SlotPoolConfig::note` of the holder; empty: none
    std::string note;
    /// when the holder made the claim, by its own wall clock: for display only. Unset if an earlier version wrote
    /// the owner
    std::optional<std::chrono::sys_seconds> claimed_at;
};

/** Reads an owner, for example `KeyState::owner`. The text is untrusted: escape it before it reaches a terminal.
 *  @return unset if tenure did not write it
 *  @par Thread safety  Safe from any thread. */
[[nodiscard]] TENURE_API std::optional<OwnerText> read_owner(std::string_view owner);

} // namespace tenure
