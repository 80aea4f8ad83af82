// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

namespace tenure::tool
{

/** The terminal on standard input, if there is one. A command in a process group of its own can read it and gets its ^C
 * only while that group is in the foreground; the keeper lends it, and takes it back. */
class Terminal
{
public:
    /** Makes sure that a write to the terminal, and taking it back, never stop this process. */
    Terminal() noexcept;
    Terminal(Terminal const&) = delete;
    Terminal& operator=(Terminal const&) = delete;
    ~Terminal();

    /** Lends it to the group, if this process' own group has it now. @return true if it did */
    bool lend(pid_t group) noexcept;

    /** Takes back what was lent. @return true if this process' group has it now, false if others have it, or there is
     * none */
    bool take_back() noexcept;

private:
    /// the group it is lent to; 0 while it is not
    pid_t borrower_ = 0;
};

} // namespace tenure::tool
