// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "terminal.hpp"

#include <unistd.h>

#include <csignal>

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
    auto const borrower = borrower_;
    borrower_ = 0;
    return borrower != 0 && ::tcgetpgrp(STDIN_FILENO) == borrower && ::tcsetpgrp(STDIN_FILENO, ::getpgrp()) == 0;
}

} // namespace tenure::tool
