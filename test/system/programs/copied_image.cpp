// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Replaces two functions of the C library in the program that it is linked into: a process started twice then is like a
// virtual machine that was resumed twice from one snapshot. It uses system calls, so that nothing is replaced twice.
#include "copied_image.hpp"

#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace
{

/// both copies were resumed in this second
constexpr time_t resumed_at = 1'800'000'000;

/// false: the image was not copied yet, and what is drawn will be in all copies
std::atomic<bool> resumed{false};
/// of the bytes that all copies have drawn; xorshift64
std::atomic<std::uint64_t> shared_state{88'172'645'463'325'252U};

std::uint64_t next_shared() noexcept
{
    auto state = shared_state.load();
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    shared_state = state;
    return state;
}

} // namespace

namespace tenure::test
{

void resume_copied_image() noexcept
{
    resumed = true;
}

} // namespace tenure::test

extern "C" {

__attribute__((visibility("default"))) ssize_t getrandom(void* bytes, std::size_t size, unsigned flags)
{
    if (resumed)
        return ::syscall(SYS_getrandom, bytes, size, flags);
    auto* const begin = static_cast<unsigned char*>(bytes);
    for (std::size_t i = 0; i < size; ++i)
        begin[i] = static_cast<unsigned char>(next_shared() >> 24U);
    return static_cast<ssize_t>(size);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept
{
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        *time = {resumed_at, 0};
        return 0;
    }
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}
}
