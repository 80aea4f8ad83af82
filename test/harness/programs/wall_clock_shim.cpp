// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Loaded into a server with LD_PRELOAD: its wall clock is ahead of the machine's by the nanoseconds in the file that
// TENURE_WALL_CLOCK_OFFSET names, which may change at any time. Only what passes through the C library's functions is
// moved: kernel timeouts and the other clocks are not. System calls directly: what a dynamic lookup needs may itself
// ask for the time.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace
{

constexpr std::int64_t second = 1'000'000'000;

std::int64_t const volatile* mapped_offset() noexcept
{
    char const* const path = std::getenv("TENURE_WALL_CLOCK_OFFSET");
    int const file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return nullptr;
    void* const mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    return mapped != MAP_FAILED ? static_cast<std::int64_t const volatile*>(mapped) : nullptr;
}

std::int64_t offset() noexcept
{
    static std::int64_t const volatile* const file = mapped_offset();
    return file != nullptr ? *file : 0;
}

int clock_time(clockid_t clock, timespec* time) noexcept
{
    auto const result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        auto const moved = std::int64_t{time->tv_sec} * second + time->tv_nsec + offset();
        time->tv_sec = moved / second;
        time->tv_nsec = moved % second;
    }
    return result;
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept
{
    return clock_time(clock, time);
}

__attribute__((visibility("default"))) int gettimeofday(timeval* __restrict time, void* __restrict) noexcept
{
    timespec precise{};
    clock_time(CLOCK_REALTIME, &precise);
    time->tv_sec = precise.tv_sec;
    time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t* result) noexcept
{
    timespec precise{};
    clock_time(CLOCK_REALTIME, &precise);
    if (result != nullptr)
        *result = precise.tv_sec;
    return precise.tv_sec;
}
}
