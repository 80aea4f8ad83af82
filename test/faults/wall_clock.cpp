// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "wall_clock.hpp"

#include "harness/auditor.hpp"
#include "harness/paths.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace tenure::faults
{

WallClock::WallClock(std::string path)
    : path_(std::move(path))
{
    int const file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof *offset_) != 0)
        throw std::system_error(errno, std::generic_category(), path_);
    void* const mapped = ::mmap(nullptr, sizeof *offset_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int const error = errno;
    ::close(file);
    if (mapped == MAP_FAILED)
        throw std::system_error(error, std::generic_category(), path_);
    offset_ = static_cast<std::int64_t*>(mapped);
}

WallClock::~WallClock()
{
    ::munmap(offset_, sizeof *offset_);
}

std::vector<std::pair<std::string, std::string>> WallClock::environment() const
{
    return {{"LD_PRELOAD", test::wall_clock_shim()}, {"TENURE_WALL_CLOCK_OFFSET", path_}};
}

void WallClock::set(std::chrono::nanoseconds offset) noexcept
{
    std::atomic_ref{*offset_}.store(offset.count());
}

std::chrono::nanoseconds WallClock::offset() const noexcept
{
    return std::chrono::nanoseconds{std::atomic_ref{*offset_}.load()};
}

std::int64_t WallClock::ahead_of_boottime() const
{
    // The closest of a few looks: between the two clocks the thread may lose the processor.
    std::int64_t best = 0;
    std::int64_t narrowest = INT64_MAX;
    for (int look = 0; look < 5; ++look) {
        auto const before = test::boottime_ns();
        timespec wall{};
        ::clock_gettime(CLOCK_REALTIME, &wall);
        auto const after = test::boottime_ns();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec - before - narrowest / 2;
        }
    }
    return best + offset().count();
}

} // namespace tenure::faults
