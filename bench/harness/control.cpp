// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/control.hpp"

#include "harness/stopwatch.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace bench
{

std::int64_t instant_now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now().time_since_epoch()).count();
}

void Control::write(void const* data, unsigned long size) const
{
    if (::send(descriptor_, data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size))
        throw std::system_error(errno, std::generic_category(), "a player of the hand-over is gone");
}

void Control::read(void* data, unsigned long size) const
{
    constexpr int limit_ms = 60'000;
    pollfd wait{descriptor_, POLLIN, 0};
    int ready = 0;
    do
        ready = ::poll(&wait, 1, limit_ms);
    while (ready < 0 && errno == EINTR);
    if (ready != 1 || ::recv(descriptor_, data, size, MSG_WAITALL) != static_cast<ssize_t>(size))
        throw std::runtime_error("a player of the hand-over is silent or gone");
}

void Control::say(Word word) const
{
    write(&word, sizeof word);
}

Word Control::hear() const
{
    Word word{};
    read(&word, sizeof word);
    return word;
}

void Control::expect(Word word) const
{
    if (auto const heard = hear(); heard != word)
        throw std::runtime_error(std::string("the hand-over heard ") + static_cast<char>(heard));
}

void Control::notify_now() const
{
    notify(instant_now());
}

void Control::notify(std::int64_t nanoseconds) const
{
    write(&nanoseconds, sizeof nanoseconds);
}

std::int64_t Control::hear_instant() const
{
    std::int64_t nanoseconds = 0;
    read(&nanoseconds, sizeof nanoseconds);
    return nanoseconds;
}

} // namespace bench
