// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::tool
{

/** How the program ends. `tenure run` otherwise ends with its command's status, or 128 + the signal that ended it; the
 * codes for the program's own failures are those of sysexits.h and of shells, so that they seldom mean something to the
 * command as well. */
enum ExitCode : int {
    success = 0,
    /// doctor: at least one warning; evict: there was nothing to evict; leader: no program leads; demo: something did
    /// not go as it must
    attention = 1,
    /// doctor: at least one error; leader: stale
    broken = 2,
    /// the command line or an option's value is wrong
    usage = 64,
    /// the store could not be reached, or refused
    store_failed = 69,
    /// the machine failed the program: no process, no memory, no descriptor
    system_failed = 70,
    /// run: every slot stayed held by others until --wait ended
    none_free = 75,
    /// run: the lease was lost, and the command was ended for it
    lease_lost = 79,
    /// run --window: another process runs the command in this window, or has run it
    window_taken = 80,
    /// run: the command was found and could not be started
    not_executable = 126,
    /// run: there is no such command
    not_found = 127,
    /// plus the number of the signal; after SIGINT, run and elect die of it (`carry_out`)
    by_signal = 128
};

} // namespace tenure::tool
