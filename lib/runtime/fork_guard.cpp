// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Counter of forks.
#include "fork_guard.hpp"

#include <pthread.h>

namespace tenure::engine
{

constinit std::atomic<std::uint64_t> forks{0};

namespace
{

[[maybe_unused]] int const installed =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

} // namespace

} // namespace tenure::engine
