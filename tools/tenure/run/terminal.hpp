// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "run/child_process.hpp"

#include <sys/types.h>

namespace tenure::tool
{

/** The terminal on standard input, if there is one. A command in a process group of its own can read it and gets its ^C
 * only while that group is in the foreground; the keeper lends it, and takes it back.
 *
 *  Other processes of the keeper's own group, such as the pager of a pipeline or the shell of a script, lose the
 * terminal meanwhile. So it is lent at once only if there are none; otherwise when the command needs it. */
class Terminal
{
public:
    /** Makes sure that no use of the terminal stops this process: neither its own nor, of a terminal that is lent, that
     * of another process of its group.
     *  @param input  `none`: it is never lent */
    explicit Terminal(Input input = Input::inherited) noexcept;
    Terminal(Terminal const&) = delete;
    Terminal& operator=(Terminal const&) = delete;
    ~Terminal();

    /** The command was stopped because it needs the terminal: the next `lend` is for that. */
    void demand() noexcept { demanded_ = true; }

    /** Lends it to the group, if this process' own group has it now, and consists of this process alone or the command
     * demanded it. @return true if it did */
    bool lend(pid_t group);

    /** True while the group that it was lent to has it. */
    [[nodiscard]] bool is_lent() const noexcept;

    /** Takes back what was lent. @return true if this process' group has it now, false if others have it, or there is
     * none */
    bool take_back() noexcept;

private:
    bool const lends_;
    /// the group it is lent to; 0 while it is not
    pid_t borrower_ = 0;
    /// no other process of this group was seen by a `lend` that nothing demanded
    bool alone_ = true;
    /// `demand` was called, and nothing was lent since
    bool demanded_ = false;
};

} // namespace tenure::tool
