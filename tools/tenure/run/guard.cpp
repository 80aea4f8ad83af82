// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/guard.hpp"

#include "run/processes.hpp"

#include <tenure/stores/file.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace
{

/// a guard that runs answers within a fraction of a millisecond; one that takes longer is not to be relied on
constexpr int confirmation_limit_ms = 500;

GuardPage* map_page()
{
    auto* const memory = ::mmap(nullptr, sizeof(GuardPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "cannot map the page that the guard reads");
    return new (memory) GuardPage;
}

/** Asks the guard to look at the page. It also gets the descriptors that keep the keys of a store in a directory, so
 * that they are free only when the guard has ended the command of a keeper that died. */
bool send_request(int channel, std::vector<int> descriptors)
{
    auto request = char{1};
    iovec part = {&request, 1};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    descriptors.resize(std::min(descriptors.size(), most_handed_over));
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_handed_over * sizeof(int))> control = {};
    if (!descriptors.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
        auto* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
        std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    return ::sendmsg(channel, &message, MSG_NOSIGNAL) == 1;
}

} // namespace

void Guard::Unmap::operator()(GuardPage* page) const noexcept
{
    ::munmap(page, sizeof(GuardPage));
}

Guard::Guard()
    : page_(map_page())
{
    start();
}

Guard::~Guard()
{
    dismiss();
}

void Guard::start()
{
    int ends[2];
    // neither side ever waits for the other one to read
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot make a channel to the guard");
    channel_ = Descriptor(ends[0]);
    auto const other = Descriptor(ends[1]);
    // a signal that arrived in the new process before it blocks them would run this process' handlers there
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    id_ = ::fork();
    if (id_ == 0)
        stand_guard(*page_, other.number());
    auto const error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (id_ < 0)
        throw std::system_error(error, std::generic_category(), "cannot start the guard process");
    add_own_child(id_);
    ++started_;
}

void Guard::end_process() noexcept
{
    if (id_ <= 0)
        return;
    ::kill(id_, SIGKILL);
    channel_.close();
    siginfo_t info = {};
    while (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    remove_own_child(id_);
    id_ = -1;
}

bool Guard::confirmed()
{
    if (!send_request(channel_.number(), holder_descriptors()))
        return false;
    pollfd waits = {channel_.number(), POLLIN, 0};
    int ready = 0;
    do
        ready = ::poll(&waits, 1, confirmation_limit_ms);
    while (ready < 0 && errno == EINTR);
    char confirmation = 0;
    return ready == 1 && ::recv(channel_.number(), &confirmation, 1, MSG_DONTWAIT) == 1;
}

bool Guard::watch(pid_t group, GuardDeadlines deadlines)
{
    page_->terminated_by = GuardPage::nobody;
    page_->killed_by_guard = false;
    move(deadlines);
    page_->group = group;
    if (id_ > 0 && confirmed())
        return true;
    end_process();
    return check();
}

void Guard::move(GuardDeadlines deadlines) noexcept
{
    // the later deadline first: a reader in between never kills the command too early
    page_->kill_at = deadlines.kill_at.count();
    page_->terminate_at = deadlines.terminate_at.count();
}

void Guard::dismiss() noexcept
{
    page_->group = 0;
    end_process();
}

bool Guard::begin_termination() noexcept
{
    std::uint32_t expected = GuardPage::nobody;
    return page_->terminated_by.compare_exchange_strong(expected, GuardPage::keeper);
}

bool Guard::has_acted() const noexcept
{
    return page_->terminated_by == GuardPage::guard || page_->killed_by_guard;
}

bool Guard::check()
{
    siginfo_t info = {};
    if (id_ > 0 && ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == 0)
        return true;
    // ended or stopped: a guard that may be continued some day is worse than none
    end_process();
    try {
        start();
    } catch (std::system_error const&) {
        return false;
    }
    if (confirmed())
        return true;
    end_process();
    return false;
}

} // namespace tenure::tool
