// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

enum class FaultKind : std::uint8_t {
    /// a process is paused (SIGSTOP, a blocked loop)
    pause,
    /// a process dies, and starts anew after `length`
    kill,
    /// a process is told to stop: it cancels what it waits for, gives back what it holds, and lets go of its store. It
    /// ends a moment later, and starts anew after `length`
    stop,
    /// messages between one process and the store vanish
    partition,
    /// only those from the store vanish
    deaf,
    /// only those to the store vanish
    mute,
    /// the connection of one process is cut
    reset,
    /// messages take up to a second and a half
    slow,
    /// the store is paused, and then goes on with what has arrived
    store_pause,
    /// the store is unavailable, and comes back with its data
    store_restart,
    /// the store comes back empty
    store_loss,
    /// the store goes back to the state of `length` ago, on a machine whose clock differs by `number`
    failover,
    /// the clock of the store jumps by `number`
    clock_jump,
    /// the store refuses whatever writes
    refusal,
    /// another client overwrites a key
    overwrite,
    /// another client deletes a key
    removal,

    // -- of connections and of Redis alone --

    /// one connection of a process falls silent for good, others work
    silence,
    /// the server closes the connections of a process (CLIENT KILL)
    hang_up,
    /// the server forgets its scripts (SCRIPT FLUSH)
    script_flush,
    /// the connection of a process breaks within its next transaction, before EXEC
    transaction_cut,
    /// another program writes a list (`number` 1) or a word to the counter of fencing tokens, which stays for `length`
    spoiled_counter,
    /// the lines of waiters are deleted; or they are words for `length`
    lost_lines,
    /// everything is deleted, and no connection breaks (FLUSHALL)
    flush,
    /// a failover as above, and after the same time the old master is promoted again, as it was then
    failback
};
constexpr std::uint32_t fault_kinds = 24;

struct Fault {
    Ns at = 0;
    FaultKind kind{};
    ProcessId process = 0;
    Ns length = 0;
    /// key, or nanoseconds: as the kind says
    std::int64_t number = 0;
};

/** One world, before it begins: everything that is not left to the scheduler's and the network's dice. */
struct Plan {
    std::uint64_t seed = 0;
    Settings settings;
    std::vector<Fault> faults;
    /// no fault lasts beyond this instant
    Ns quiet_from = 45 * second;
    Ns end = 60 * second;
    /// bit per process and worker: who takes part
    std::uint64_t workers = ~std::uint64_t{0};
};

[[nodiscard]] Plan make_plan(std::uint64_t seed);

[[nodiscard]] std::string_view name_of(FaultKind kind) noexcept;
[[nodiscard]] std::string describe(Fault const& fault);
[[nodiscard]] std::string describe(Plan const& plan);

} // namespace tenure::simulation
