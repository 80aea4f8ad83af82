// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

/** The command-line program, run with a store, and what it and its command have printed. */
class ToolProcess
{
public:
    explicit ToolProcess(std::vector<std::string> arguments, std::string const& store = {})
        : process_(command(std::move(arguments), store, output_path()))
    {
    }

    [[nodiscard]] std::string output() const
    {
        std::ostringstream text;
        text << std::ifstream(output_path()).rdbuf();
        return text.str();
    }

    [[nodiscard]] bool says(std::string const& text, std::chrono::milliseconds limit = std::chrono::seconds{15}) const
    {
        return eventually([&] { return output().find(text) != std::string::npos; }, limit);
    }

    /** As a shell would show it; -1 if it still runs at the end of the limit. */
    [[nodiscard]] int exit_code(std::chrono::milliseconds limit = std::chrono::seconds{30})
    {
        auto const status = process_.wait_for(limit);
        if (!status)
            return -1;
        return status->signal != 0 ? 128 + status->signal : status->code;
    }

    [[nodiscard]] ChildProcess& process() noexcept { return process_; }

    /** A number that the command has printed after the given word. */
    [[nodiscard]] long number_after(std::string const& word) const
    {
        auto const text = output();
        auto const at = text.find(word);
        return at == std::string::npos ? -1 : std::stol(text.substr(at + word.size()));
    }

private:
    [[nodiscard]] std::string output_path() const { return directory_.file("output"); }

    static Command command(std::vector<std::string> arguments, std::string const& store, std::string output)
    {
        arguments.insert(arguments.begin(), tool_path());
        return {std::move(arguments), {{"TENURE_STORE", store}}, std::move(output)};
    }

    ScratchDirectory directory_;
    ChildProcess process_;
};

} // namespace tenure::test
