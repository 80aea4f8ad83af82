// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Programs of Catch2 whose cases find planted bugs.
#pragma once

#include "mutants/mutants.hpp"

#include <catch2/catch_session.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

namespace tenure::mutants
{

constexpr char const* bug_variable = "TENURE_PLANTED_BUG";

/** Runs the cases of this program with a bug planted, without output. @returns the status from `waitpid` */
inline int run_with_bug(std::string const& bug, std::string const& argument)
{
    auto const child = ::fork();
    if (child == 0) {
        ::setenv(bug_variable, bug.c_str(), 1);
        char const* const null = "/dev/null";
        static_cast<void>(std::freopen(null, "w", stdout));
        static_cast<void>(std::freopen(null, "w", stderr));
        ::execl("/proc/self/exe", "cases", argument.c_str(), nullptr);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

/** Runs the cases with each bug of a layer, and then with "none".
 *  @param finder_of  returns a description of the case that found the bug; empty if none did
 *  @returns the exit code */
inline int hunt(std::string_view layer, std::function<std::string(std::string const& bug)> const& finder_of)
{
    int missed = 0;
    int hunted = 0;
    for (auto const& mutant : all()) {
        if (mutant.layer != layer)
            continue;
        ++hunted;
        std::string const name(mutant.name);
        auto const finder = finder_of(name);
        std::printf("%-32s %s\n", name.c_str(), finder.empty() ? "NOT FOUND" : ("found: " + finder).c_str());
        std::fflush(stdout);
        missed += finder.empty() ? 1 : 0;
    }
    auto const without = finder_of("none");
    std::printf(
        "%d mutants, %d missed; without a bug: %s\n", hunted, missed,
        without.empty() ? "no case fails" : ("FAILS: " + without).c_str());
    return hunted > 0 && missed == 0 && without.empty() ? 0 : 1;
}

/** The program: hunts with `--hunt`, else runs the cases with the bug that the environment names. */
inline int run_cases(int count, char** arguments, std::function<int()> const& hunts)
{
    if (count == 2 && std::string(arguments[1]) == "--hunt")
        return hunts();
    if (char const* const bug = std::getenv(bug_variable); bug != nullptr && !activate(bug)) {
        std::fprintf(stderr, "no such bug: %s\n", bug);
        return 2;
    }
    return Catch::Session().run(count, arguments);
}

} // namespace tenure::mutants
