// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tenure::tool
{

/** The command line: the program's commands and their options. */
class Program
{
public:
    Program();
    Program(Program const&) = delete;
    Program& operator=(Program const&) = delete;
    ~Program() = default;

    /** Does what the words ask for.
     *  @param words  without the program's name
     *  @return the exit code
     *  @throws std::invalid_argument for a mistake on the command line, std::system_error */
    [[nodiscard]] int run(Inheritance const& inheritance, std::vector<std::string> words);

    [[nodiscard]] CLI::App const& options() const noexcept { return app_; }

private:
    void check_command(std::vector<std::string> const& words) const;
    [[nodiscard]] Command const* parsed() const;

    CLI::App app_;
    std::vector<Command> commands_;
};

} // namespace tenure::tool
