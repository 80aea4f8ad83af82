// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::tool
{

/** Whether SIGINT, as ^C sends it, ended the command or the wait for its lease. */
enum class Interruption {
    none,
    /// the rest of this process' group has got the signal, if the terminal sent it
    of_group,
    /// the terminal was lent to the command, so ^C reached the command's group alone
    of_command
};

/** How the program ends. */
struct Ending {
    int code = 0;
    Interruption interruption = Interruption::none;
};

/** After an interruption, dies of SIGINT: a shell ends its script after a child that died of SIGINT, and goes on after
 * one that exited with any code. To be called when everything has been given back.
 *
 *  @return the exit code, if there was no interruption, or if the signal cannot end this process because it is PID 1 */
[[nodiscard]] int carry_out(Ending const& ending) noexcept;

} // namespace tenure::tool
