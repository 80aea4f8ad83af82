// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/guard_page.hpp"
#include "run/processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace tenure::tool
{

namespace
{

constexpr std::int64_t second = 1'000'000'000;

std::int64_t now() noexcept
{
    timespec time = {};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return time.tv_sec * second + time.tv_nsec;
}

void set_timer(int timer, std::int64_t instant) noexcept
{
    itimerspec setting = {};
    setting.it_value.tv_sec = instant / second;
    setting.it_value.tv_nsec = instant % second;
    ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, nullptr);
}

/** Does what is due. @return the instant of what comes next, 0 if nothing does */
std::int64_t act(GuardPage& page) noexcept
{
    auto const group = page.group.load();
    if (group <= 0 || page.killed_by_guard.load())
        return 0;
    auto const time = now();
    if (time >= page.kill_at.load()) {
        page.killed_by_guard.store(true);
        ::kill(-group, SIGKILL);
        return 0;
    }
    if (time < page.terminate_at.load())
        return page.terminate_at.load();
    std::uint32_t expected = GuardPage::nobody;
    if (page.terminated_by.compare_exchange_strong(expected, GuardPage::guard)) {
        ::kill(-group, SIGTERM);
        // a stopped process cannot handle a signal
        ::kill(-group, SIGCONT);
    }
    return page.kill_at.load();
}

/// descriptors of the keeper; -1: none
using Kept = std::array<int, most_handed_over>;

/** Only what this process needs stays open: the keeper's sockets and pipes must not live on here. */
void keep_only(int& channel, int& timer) noexcept
{
    // out of the way first, so that neither dup2 overwrites the other
    auto const high_channel = ::fcntl(channel, F_DUPFD, 10);
    auto const high_timer = ::fcntl(timer, F_DUPFD, 10);
    if (high_channel < 0 || high_timer < 0)
        return;
    channel = ::dup2(high_channel, 0);
    timer = ::dup2(high_timer, 1);
    if (::close_range(2, ~0U, 0) != 0) {
        auto const limit = ::sysconf(_SC_OPEN_MAX);
        for (int descriptor = 2; descriptor < (limit > 0 && limit < 65'536 ? limit : 65'536); ++descriptor)
            ::close(descriptor);
    }
}

/** Takes a request of the keeper, and the descriptors that come with it in place of earlier ones. They are kept open
 * and never used. @return as read() */
ssize_t take_request(int channel, Kept& kept) noexcept
{
    char request = 0;
    iovec part = {&request, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_handed_over * sizeof(int))> control = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    auto const got = ::recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    auto const* const header = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS)
        return got;
    for (auto& descriptor : kept)
        if (descriptor >= 0)
            ::close(std::exchange(descriptor, -1));
    std::memcpy(kept.data(), CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    return got;
}

/** Kills the group and waits until all of its processes have ended: until then its keys are not free. */
void end_group(std::int32_t group) noexcept
try {
    constexpr int most_waits = 10'000;
    ::kill(-group, SIGKILL);
    // the dead count as members until their new parent has taken note, which may never happen
    for (int waits = 0; waits < most_waits && ::kill(-group, 0) == 0 && has_live_member(group); ++waits)
        ::poll(nullptr, 0, 1);
} catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the keys are free at once
}

} // namespace

void stand_guard(GuardPage& page, int channel) noexcept
{
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    // away from the terminal and from the keeper's group: what is sent to those is not for the guard
    ::setsid();
    ::prctl(PR_SET_NAME, "tenure-guard");
    auto timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0)
        ::_exit(1);
    keep_only(channel, timer);
    Kept kept;
    kept.fill(-1);
    bool owes_confirmation = false;
    for (;;) {
        set_timer(timer, act(page));
        if (owes_confirmation) {
            auto const confirmation = char{1};
            static_cast<void>(!::write(channel, &confirmation, 1));
            owes_confirmation = false;
        }
        pollfd waits[] = {{channel, POLLIN, 0}, {timer, POLLIN, 0}};
        ::poll(waits, 2, -1);
        if (waits[1].revents != 0) {
            std::uint64_t expirations = 0;
            static_cast<void>(!::read(timer, &expirations, sizeof expirations));
        }
        if (waits[0].revents != 0) {
            auto const got = take_request(channel, kept);
            if (got == 1) {
                owes_confirmation = true;
            } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
                // The keeper has gone. Its descriptors close before its children are told and before they get another
                // parent, so the group's number is not free for others yet.
                if (auto const group = page.group.load(); group > 0)
                    end_group(group);
                ::_exit(0);
            }
        }
    }
}

} // namespace tenure::tool
