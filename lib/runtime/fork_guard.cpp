// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Counter of forks, and the lock that holds them up.
#include "fork_guard.hpp"

#include <pthread.h>

#include <memory>

/// of ThreadSanitizer, in programs that are built with it
extern "C" [[gnu::weak]] void AnnotateRWLockReleased(char const*, int, void const volatile*, unsigned long is_writer);

namespace tenure
{

constinit std::atomic<std::uint64_t> forks{0};

namespace
{

/// owned by a thread while it forks
constinit std::shared_mutex forking;

void begin_child() noexcept
{
    forks.fetch_add(1, std::memory_order_relaxed);
    // not unlocked, because its owner has another thread ID here; ThreadSanitizer would take it as held for ever
    if (AnnotateRWLockReleased != nullptr)
        AnnotateRWLockReleased(__FILE__, __LINE__, &forking, 1);
    std::construct_at(&forking);
}

[[maybe_unused]] int const installed = ::pthread_atfork([] { forking.lock(); }, [] { forking.unlock(); }, &begin_child);

} // namespace

std::shared_lock<std::shared_mutex> hold_forks()
{
    return std::shared_lock(forking);
}

} // namespace tenure
