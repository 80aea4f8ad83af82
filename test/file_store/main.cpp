// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Runs the test cases. With `--hunt`, once for each planted bug, which a case must find.
#include "mutants/hunt.hpp"

int main(int count, char** arguments)
{
    using namespace tenure::mutants;
    auto const finder_of = [](std::string const& bug) -> std::string {
        return run_with_bug(bug, "--abort") == 0 ? "" : "a case fails";
    };
    return run_cases(count, arguments, [&] { return hunt("file", finder_of); });
}
