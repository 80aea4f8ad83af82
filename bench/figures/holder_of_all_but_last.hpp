// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child.hpp"
#include "library/workloads.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace bench
{

/** A process that holds all slots but the last one, while this object lives. */
class HolderOfAllButLast
{
public:
    HolderOfAllButLast(std::string const& url, unsigned keys)
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe2");
        child_.emplace(Place::any, [&]() -> Measurement {
            library::hold_all_but_last(url, keys, ends[1]);
            return {};
        });
        ::close(ends[1]);
        char held = 0;
        auto const got = ::read(ends[0], &held, 1);
        ::close(ends[0]);
        if (got != 1)
            throw std::runtime_error("the slots could not be held");
    }

private:
    std::optional<Child> child_;
};

} // namespace bench
