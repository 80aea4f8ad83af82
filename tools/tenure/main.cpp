// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/exit_code.hpp"
#include "command_line/option_terms.hpp"
#include "command_line/program.hpp"
#include "output/report.hpp"
#include "run/inheritance.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tenure::tool;

int main(int count, char** words)
{
    auto const inheritance = Inheritance::record();
    auto const report = Report(0);
    try {
        return Program().run(inheritance, std::vector<std::string>(words + (count > 0 ? 1 : 0), words + count));
    } catch (std::invalid_argument const& error) {
        report.error(in_terms_of_options(error.what()));
        return usage;
    } catch (std::exception const& error) {
        report.error(error.what());
        return system_failed;
    }
}
