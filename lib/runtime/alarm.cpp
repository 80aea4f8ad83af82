// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "alarm.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>

#include <sys/timerfd.h>
#include <unistd.h>

namespace tenure::engine
{

namespace
{

using Descriptor = boost::asio::posix::basic_stream_descriptor<Strand>;

Descriptor make_timer(Strand const& strand)
{
    auto const timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0)
        throw std::system_error(errno, std::generic_category(), "timerfd_create");
    try {
        return Descriptor(strand, timer);
    } catch (...) {
        ::close(timer);
        throw;
    }
}

} // namespace

Alarm::Alarm(Strand const& strand)
    : descriptor_(make_timer(strand))
{
}

void Alarm::set(Instant when) noexcept
{
    // zero would stop it
    auto const since_boot = std::max(when.time_since_epoch(), Clock::duration{1});
    auto const seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    itimerspec time{};
    time.it_value.tv_sec = seconds.count();
    time.it_value.tv_nsec = (since_boot - seconds).count();
    // forgets an earlier expiry, too; it has no error that valid arguments can cause
    ::timerfd_settime(descriptor_.native_handle(), TFD_TIMER_ABSTIME, &time, nullptr);
}

void Alarm::cancel() noexcept
{
    boost::system::error_code ignored;
    descriptor_.cancel(ignored);
}

} // namespace tenure::engine
