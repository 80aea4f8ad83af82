// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <thread>
#include <utility>

#include <pthread.h>
#include <signal.h>

namespace tenure
{

/** Starts a thread of the library with all signals blocked, because their handlers expect the program's own threads.
 *  @param name  at most 15 bytes, shown by debuggers and `ps -L`
 *  @throws std::system_error */
template <class Work>
[[nodiscard]] std::thread start_library_thread(char const* name, Work work)
{
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread(std::move(work));
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        ::pthread_setname_np(thread.native_handle(), name);
        return thread;
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

} // namespace tenure
