// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/job.hpp"

#include "harness/program.hpp"

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace bench
{

namespace
{

/// the first word of the line that carries the values
constexpr std::string_view result_word = "result";

template <class Number>
Number parse_number(std::string_view option, std::string const& text)
{
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw std::invalid_argument(std::string(option) + " wants a number, not " + text);
    return value;
}

} // namespace

std::vector<std::string> to_arguments(Job const& job)
{
    std::vector<std::string> arguments{
        job.workload, "--url", job.url, "--count", std::to_string(job.count), "--seconds", std::to_string(job.seconds)};
    if (job.hold_ms != 0)
        arguments.insert(arguments.end(), {"--hold", std::to_string(job.hold_ms)});
    if (!job.by_default)
        arguments.emplace_back("--plain");
    if (job.fair)
        arguments.emplace_back("--fair");
    if (job.server != 0)
        arguments.insert(arguments.end(), {"--server-pid", std::to_string(job.server)});
    if (job.pause_ms != 0)
        arguments.insert(arguments.end(), {"--pause", std::to_string(job.pause_ms)});
    return arguments;
}

Job parse_job(std::vector<std::string> const& arguments)
{
    if (arguments.empty())
        throw std::invalid_argument("--workload wants a name");
    Job job;
    job.workload = arguments.front();
    for (std::size_t index = 1; index < arguments.size(); ++index) {
        auto const& option = arguments[index];
        if (option == "--plain") {
            job.by_default = false;
            continue;
        }
        if (option == "--fair") {
            job.fair = true;
            continue;
        }
        if (index + 1 == arguments.size())
            throw std::invalid_argument(option + " wants a value");
        auto const& value = arguments[++index];
        if (option == "--url")
            job.url = value;
        else if (option == "--count")
            job.count = parse_number<unsigned>(option, value);
        else if (option == "--seconds")
            job.seconds = parse_number<double>(option, value);
        else if (option == "--hold")
            job.hold_ms = parse_number<unsigned>(option, value);
        else if (option == "--server-pid")
            job.server = parse_number<pid_t>(option, value);
        else if (option == "--pause")
            job.pause_ms = parse_number<unsigned>(option, value);
        else
            throw std::invalid_argument("a workload has no option " + option);
    }
    return job;
}

void print_result(Measurement const& result)
{
    std::printf("%.*s", static_cast<int>(result_word.size()), result_word.data());
    for (auto const value : result)
        std::printf(" %.9g", value);
    std::printf("\n");
}

Measurement run_job(std::string const& program, Place place, Job const& job)
{
    auto const work = [&] {
        std::vector<std::string> command{program, "--workload"};
        for (auto& argument : to_arguments(job))
            command.push_back(std::move(argument));
        std::istringstream lines(run_program(command).output);
        Measurement result;
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string word;
            if (words >> word && word == result_word)
                for (double value = 0; words >> value;)
                    result.push_back(value);
            else
                std::fprintf(stderr, "%s\n", line.c_str());
        }
        if (result.empty())
            throw std::runtime_error(program + " printed no result of " + job.workload);
        return result;
    };
    return in_child(place, work, job.seconds);
}

} // namespace bench
