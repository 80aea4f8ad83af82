// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI
{
class App;
}

namespace tenure::tool
{

class Inheritance;

/** The arguments of a command from main. */
struct Invocation {
    Inheritance const& inheritance;
    /// the words after the first `--` of the command line
    std::vector<std::string> after_dashes;
    bool has_dashes = false;
};

/** One subcommand: its options as CLI11 knows them, and what it does once they are parsed. */
struct Command {
    CLI::App* options = nullptr;
    /// @return the exit code. @throws std::invalid_argument for a value that is wrong, std::system_error
    std::function<int(Invocation const&)> run;
};

[[nodiscard]] Command add_run_command(CLI::App& program);
[[nodiscard]] Command add_elect_command(CLI::App& program);
[[nodiscard]] Command add_leader_command(CLI::App& program);
[[nodiscard]] Command add_status_command(CLI::App& program);
[[nodiscard]] Command add_list_command(CLI::App& program);
[[nodiscard]] Command add_init_command(CLI::App& program);
[[nodiscard]] Command add_doctor_command(CLI::App& program);
[[nodiscard]] Command add_evict_command(CLI::App& program);
[[nodiscard]] Command add_exporter_command(CLI::App& program);
[[nodiscard]] Command add_demo_command(CLI::App& program);
[[nodiscard]] Command add_completion_command(CLI::App& program);
/** Not for people: prints the manual page, for the build. */
[[nodiscard]] Command add_man_page_command(CLI::App& program);
/** Not for people: one worker of the demo on a server, in a process of its own. */
[[nodiscard]] Command add_demo_worker_command(CLI::App& program);

} // namespace tenure::tool
