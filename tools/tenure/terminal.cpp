// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "terminal.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace tenure::tool
{

Terminal::Terminal() noexcept
{
    std::signal(SIGTTOU, SIG_IGN);
}

Terminal::~Terminal()
{
    take_back();
}

bool Terminal::lend(pid_t group) noexcept
{
    // fails with ENOTTY where standard input is no terminal, or not the one of this session
    if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp() || ::tcsetpgrp(STDIN_FILENO, group) != 0)
        return false;
    borrower_ = group;
    return true;
}

bool Terminal::take_back() noexcept
{
    auto const borrower = std::exchange(borrower_, 0);
    auto const foreground = ::tcgetpgrp(STDIN_FILENO);
    // it may not have been lent yet, or another process has already given it back to this process group
    if (foreground == ::getpgrp())
        return true;
    return borrower != 0 && foreground == borrower && ::tcsetpgrp(STDIN_FILENO, ::getpgrp()) == 0;
}

} // namespace tenure::tool
