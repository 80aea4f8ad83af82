// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "random_pool.hpp"

#include <cerrno>
#include <span>
#include <system_error>

#include <sys/random.h>

namespace tenure::engine
{

void RandomPool::refill()
{
    std::span<std::byte> bytes = std::as_writable_bytes(std::span(numbers_));
    while (!bytes.empty()) {
        auto const count = ::getrandom(bytes.data(), bytes.size(), 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw std::system_error(errno, std::generic_category(), "getrandom");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    next_ = 0;
}

} // namespace tenure::engine
