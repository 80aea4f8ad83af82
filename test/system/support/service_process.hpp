// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

/** A program that runs until a signal ends it. A test kills it and starts it again; all its runs print to one file. */
class ServiceProcess
{
public:
    ServiceProcess(std::vector<std::string> arguments, std::string output)
        : command_{std::move(arguments), {}, std::move(output)}
        , process_(Command{command_})
    {
    }

    /** SIGKILL. */
    void kill() { process_->kill(); }
    void start() { process_.emplace(Command{command_}); }
    /** SIGSTOP; returns when it has stopped. */
    void pause() { process_->pause(); }
    void resume() { process_->resume(); }
    void signal(int number) { process_->signal(number); }
    /** Asks it to end; empty if it still runs after the limit. */
    [[nodiscard]] std::optional<ExitStatus> end(int signal, std::chrono::milliseconds limit)
    {
        process_->signal(signal);
        return process_->wait_for(limit);
    }
    [[nodiscard]] std::optional<ExitStatus> wait_for(std::chrono::milliseconds limit)
    {
        return process_->wait_for(limit);
    }

    /** The lines that it has printed, standard error included. */
    [[nodiscard]] std::vector<std::string> lines() const
    {
        std::ifstream file(command_.output);
        std::vector<std::string> read;
        for (std::string line; std::getline(file, line);)
            read.push_back(line);
        return read;
    }
    /** How many of its lines begin so. */
    [[nodiscard]] std::size_t count(std::string_view beginning) const
    {
        auto const read = lines();
        return static_cast<std::size_t>(
            std::ranges::count_if(read, [&](std::string const& line) { return line.starts_with(beginning); }));
    }

private:
    Command command_;
    std::optional<ChildProcess> process_;
};

} // namespace tenure::test
