// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fork_guard.hpp"

#include <atomic>

#include <pthread.h>

namespace tenure::engine
{

namespace
{

std::atomic<std::uint64_t> generation{0};

int const installed = ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

} // namespace

std::uint64_t fork_generation() noexcept
{
    static_cast<void>(installed);
    return generation.load(std::memory_order_relaxed);
}

} // namespace tenure::engine
