// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <functional>

#include <sys/wait.h>
#include <unistd.h>

namespace tenure::test
{

/** Checks in a child of fork. @param right  returns whether all is well there */
inline void check_in_child(std::function<bool()> const& right)
{
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(20);
        bool well = false;
        try {
            well = right();
        } catch (...) { // NOLINT(bugprone-empty-catch): it is not well
        }
        ::_exit(well ? 0 : 1);
    }
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

} // namespace tenure::test
