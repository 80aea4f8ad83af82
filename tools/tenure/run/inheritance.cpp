// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/inheritance.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace tenure::tool
{

namespace
{

bool stays_open_on_exec(int descriptor) noexcept
{
    auto const flags = ::fcntl(descriptor, F_GETFD);
    return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

void set_disposition(int signal, void (*disposition)(int)) noexcept
{
    struct sigaction action = {};
    action.sa_handler = disposition;
    ::sigemptyset(&action.sa_mask);
    static_cast<void>(::sigaction(signal, &action, nullptr));
}

/** Opens a standard descriptor that is closed. Otherwise the first socket of this program would get its number, and the
 * other end would read the messages. The command finds the descriptor closed. */
void occupy_closed_standard_descriptors() noexcept
{
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
        if (::fcntl(descriptor, F_GETFD) < 0)
            // the lowest free number is this one
            static_cast<void>(::open("/dev/null", O_RDWR | O_CLOEXEC));
}

bool close_all_on_exec() noexcept
{
#ifdef CLOSE_RANGE_CLOEXEC
    return ::close_range(3, ~0U, static_cast<int>(CLOSE_RANGE_CLOEXEC)) == 0;
#else
    return false;
#endif
}

} // namespace

Inheritance Inheritance::record()
{
    occupy_closed_standard_descriptors();
    Inheritance result;
    ::sigemptyset(&result.ignored_);
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action = {};
        if (::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
            action.sa_handler == SIG_IGN)
            ::sigaddset(&result.ignored_, signal);
    }
    ::sigprocmask(SIG_SETMASK, nullptr, &result.mask_);
    auto const directory = std::unique_ptr<DIR, int (*)(DIR*)>(::opendir("/proc/self/fd"), ::closedir);
    if (directory) {
        while (auto const* const entry = ::readdir(directory.get())) {
            auto const descriptor = std::atoi(entry->d_name);
            if (descriptor > 2 && descriptor != ::dirfd(directory.get()) && stays_open_on_exec(descriptor))
                result.descriptors_.push_back(descriptor);
        }
    }
    set_disposition(SIGCHLD, SIG_DFL);
    set_disposition(SIGPIPE, SIG_IGN);
    sigset_t nothing;
    ::sigemptyset(&nothing);
    ::sigprocmask(SIG_SETMASK, &nothing, nullptr);
    return result;
}

Inheritance Inheritance::with(int descriptor) const
{
    auto result = *this;
    result.descriptors_.push_back(descriptor);
    return result;
}

bool Inheritance::ignores(int signal) const noexcept
{
    return ::sigismember(&ignored_, signal) == 1;
}

void Inheritance::restore_signals() const noexcept
{
    for (int signal = 1; signal < NSIG; ++signal)
        set_disposition(signal, ignores(signal) ? SIG_IGN : SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

void Inheritance::restore_descriptors() const noexcept
{
    if (!close_all_on_exec()) {
        // kernels before 5.11: one by one, as far as this program could ever have come
        auto const limit = ::sysconf(_SC_OPEN_MAX);
        auto const end = limit > 0 && limit < 65'536 ? static_cast<int>(limit) : 65'536;
        for (int descriptor = 3; descriptor < end; ++descriptor)
            static_cast<void>(::fcntl(descriptor, F_SETFD, FD_CLOEXEC));
    }
    for (auto const descriptor : descriptors_)
        static_cast<void>(::fcntl(descriptor, F_SETFD, 0));
}

} // namespace tenure::tool
