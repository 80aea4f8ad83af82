// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Runs the test cases of the store on PostgreSQL. With `--hunt`, each of its planted bugs with the cases that have its
// name as a tag, one of which must fail.
#include "mutants/hunt.hpp"

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

/** The tags of the cases that find a bug; those of all bugs for "none". */
std::string tags_of(std::string const& bug)
{
    std::string tags;
    for (auto const& mutant : tenure::mutants::all())
        if (mutant.layer == "postgresql" && (bug == mutant.name || bug == "none"))
            tags += (tags.empty() ? "[" : ",[") + std::string(mutant.name) + "]";
    return tags;
}

/** The case that fails; empty: none does. */
std::string finder_of(std::string const& bug)
{
    char file[] = "/tmp/tenure-hunt-XXXXXX";
    ::close(::mkstemp(file));
    ::setenv(failed_variable, file, 1);
    auto const tags = tags_of(bug);
    auto const status = tenure::mutants::run_with_bug(bug, tags);
    std::ifstream failed(file);
    std::string name;
    std::getline(failed, name);
    ::unlink(file);
    // the planted text is not there, or no case has the tag
    if (!WIFEXITED(status) || (name.empty() && WEXITSTATUS(status) != 0))
        std::printf("%s: the cases %s ended with %d\n", bug.c_str(), tags.c_str(), status);
    return name;
}

} // namespace

int main(int count, char** arguments)
{
    return tenure::mutants::run_cases(count, arguments, [] { return tenure::mutants::hunt("postgresql", finder_of); });
}
