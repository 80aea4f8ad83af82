// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Runs the test cases of the store on PostgreSQL. With `--hunt`, each of its planted bugs with the cases that have its
// name as a tag, one of which must fail.
#include "mutants/mutants.hpp"

#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace
{

constexpr char const* bug_variable = "TENURE_PLANTED_BUG";
constexpr char const* failed_variable = "TENURE_FAILED_CASES";

/** Writes down which cases fail. */
class FailedCases : public Catch::EventListenerBase
{
public:
    using Catch::EventListenerBase::EventListenerBase;

    void testCaseEnded(Catch::TestCaseStats const& stats) override
    {
        char const* const file = std::getenv(failed_variable);
        if (file != nullptr && stats.totals.assertions.failed > 0)
            std::ofstream(file, std::ios::app) << stats.testInfo->name << "\n";
    }
};

CATCH_REGISTER_LISTENER(FailedCases)

/** The case that fails, run in a child with the bug; empty: none does. */
std::string finder_of(std::string const& bug, std::string const& tag)
{
    char file[] = "/tmp/tenure-hunt-XXXXXX";
    ::close(::mkstemp(file));
    auto const child = ::fork();
    if (child == 0) {
        ::setenv(bug_variable, bug.c_str(), 1);
        ::setenv(failed_variable, file, 1);
        char const* const null = "/dev/null";
        static_cast<void>(std::freopen(null, "w", stdout));
        static_cast<void>(std::freopen(null, "w", stderr));
        ::execl("/proc/self/exe", "tenure_system_postgresql", tag.c_str(), nullptr);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::ifstream failed(file);
    std::string name;
    std::getline(failed, name);
    ::unlink(file);
    // the planted text is not there, or no case has the tag
    if (!WIFEXITED(status) || (name.empty() && WEXITSTATUS(status) != 0))
        std::printf("%s: the cases %s ended with %d\n", bug.c_str(), tag.c_str(), status);
    return name;
}

int hunt()
{
    int missed = 0;
    int hunted = 0;
    std::string all_tags;
    for (auto const& mutant : tenure::mutants::all()) {
        if (mutant.layer != "postgresql")
            continue;
        ++hunted;
        std::string const name(mutant.name);
        auto const tag = "[" + name + "]";
        all_tags += (all_tags.empty() ? "" : ",") + tag;
        auto const finder = finder_of(name, tag);
        std::printf("%-32s %s\n", name.c_str(), finder.empty() ? "NOT FOUND" : ("found: " + finder).c_str());
        std::fflush(stdout);
        missed += finder.empty() ? 1 : 0;
    }
    auto const without = finder_of("none", all_tags);
    std::printf(
        "%d mutants, %d missed; without a bug: %s\n", hunted, missed,
        without.empty() ? "no case fails" : ("FAILS: " + without).c_str());
    return hunted > 0 && missed == 0 && without.empty() ? 0 : 1;
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
