// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Runs the test cases. With `--hunt`, once for each planted bug, which a case must find.
#include "mutants/mutants.hpp"

#include <catch2/catch_session.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace
{

constexpr char const* bug_variable = "TENURE_PLANTED_BUG";

/** Runs all cases in a child, which activates the bug. @returns whether one failed */
bool is_found(std::string const& mutant)
{
    auto const child = ::fork();
    if (child == 0) {
        ::setenv(bug_variable, mutant.c_str(), 1);
        char const* const null = "/dev/null";
        static_cast<void>(std::freopen(null, "w", stdout));
        static_cast<void>(std::freopen(null, "w", stderr));
        ::execl("/proc/self/exe", "tenure_file_store", "--abort", nullptr);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int hunt()
{
    int missed = 0;
    int hunted = 0;
    for (auto const& mutant : tenure::mutants::all()) {
        if (mutant.layer != "file")
            continue;
        ++hunted;
        bool const found = is_found(std::string(mutant.name));
        std::printf("%-28s %s\n", std::string(mutant.name).c_str(), found ? "found" : "NOT FOUND");
        std::fflush(stdout);
        missed += found ? 0 : 1;
    }
    bool const clean = !is_found("none");
    std::printf("%d mutants, %d missed; without a bug: %s\n", hunted, missed, clean ? "no case fails" : "A CASE FAILS");
    return hunted > 0 && missed == 0 && clean ? 0 : 1;
}

} // namespace

int main(int count, char** arguments)
{
    if (count == 2 && std::string(arguments[1]) == "--hunt")
        return hunt();
    if (char const* const bug = std::getenv(bug_variable); bug != nullptr && !tenure::mutants::activate(bug)) {
        std::fprintf(stderr, "no such bug: %s\n", bug);
        return 2;
    }
    return Catch::Session().run(count, arguments);
}
