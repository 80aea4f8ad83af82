// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/terminal.hpp"

#include "run/processes.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace tenure::tool
{

Terminal::Terminal(Input input) noexcept
    : lends_(input == Input::inherited)
{
    std::signal(SIGTTOU, SIG_IGN);
    std::signal(SIGTTIN, SIG_IGN);
}

Terminal::~Terminal()
{
    take_back();
}

bool Terminal::lend(pid_t group)
{
    // fails with ENOTTY where standard input is no terminal, or not the one of this session
    if (!lends_ || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp())
        return false;
    if (!demanded_) {
        alone_ = alone_ && is_alone_in_group();
        if (!alone_)
            return false;
    }
    if (::tcsetpgrp(STDIN_FILENO, group) != 0)
        return false;
    borrower_ = group;
    demanded_ = false;
    return true;
}

bool Terminal::is_lent() const noexcept
{
    return borrower_ != 0 && ::tcgetpgrp(STDIN_FILENO) == borrower_;
}

bool Terminal::take_back() noexcept
{
    if (!lends_)
        return false;
    auto const borrower = std::exchange(borrower_, 0);
    auto const foreground = ::tcgetpgrp(STDIN_FILENO);
    // it may not have been lent yet, or another process has already given it back to this process group
    if (foreground == ::getpgrp())
        return true;
    return borrower != 0 && foreground == borrower && ::tcsetpgrp(STDIN_FILENO, ::getpgrp()) == 0;
}

} // namespace tenure::tool
