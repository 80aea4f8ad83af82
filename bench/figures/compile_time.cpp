// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/program.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// from the configuration of CMake: compiler, include directories separated by colons, folder of the sources
#if !defined(TENURE_BENCH_COMPILER) || !defined(TENURE_BENCH_INCLUDE) || !defined(TENURE_BENCH_SOURCES)
#error "CMake says with which compiler to measure"
#endif

namespace bench
{

namespace
{

std::vector<std::string> compile(std::string_view source, std::string_view extra = {})
{
    // a cache of compilations would answer from memory
    std::vector<std::string> command{"env", "CCACHE_DISABLE=1", TENURE_BENCH_COMPILER, "-std=c++20", "-O0", "-c",
                                     "-o",  "/dev/null"};
    std::istringstream directories(TENURE_BENCH_INCLUDE);
    for (std::string directory; std::getline(directories, directory, ':');)
        if (!directory.empty() && directory != "/usr/include")
            command.push_back("-I" + directory);
    if (!extra.empty())
        command.emplace_back(extra);
    command.push_back(TENURE_BENCH_SOURCES "/translation_units/" + std::string(source));
    return command;
}

/** Lines of `-H` that name a header which no user of the library should pay for. */
unsigned foreign_headers(Report const& report)
{
    auto const output = run_program(compile("tenure.cpp", "-H")).output;
    unsigned headers = 0;
    unsigned foreign = 0;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with('.'))
            continue;
        ++headers;
        std::transform(line.begin(), line.end(), line.begin(), [](unsigned char letter) {
            return static_cast<char>(std::tolower(letter));
        });
        constexpr std::array<std::string_view, 7> names{"/wire/",  "redis/",   "spdlog",     "fmt/",
                                                        "openssl", "asio/ssl", "/lib/engine"};
        if (std::any_of(names.begin(), names.end(), [&](auto name) { return line.find(name) != line.npos; })) {
            ++foreign;
            report.note("reached: " + line);
        }
    }
    report.note("headers of a translation unit with tenure.hpp: " + std::to_string(headers));
    // without any the compiler did not understand -H, and nothing was looked at
    return headers == 0 ? 1 : foreign;
}

} // namespace

void measure_compile_time(Setting const& setting)
{
    auto const run = [](std::string_view source) {
        return [=]() -> Measurement { return {run_program(compile(source)).cpu_seconds}; };
    };
    auto const all = interleave(
        setting.extent.rounds, {{"only Asio's headers", run("asio_headers.cpp")},
                                {"only Asio's headers, one co_await", run("asio_co_await.cpp")},
                                {"tenure.hpp, one co_await", run("tenure.cpp")}});
    for (auto const& series : all)
        setting.report.medians("compile time, -O0", series, "s");
    setting.report.figure("compile_time", all[2].median() / all[0].median(), Goal::at_most, 1.2);
    setting.report.figure("compile_time_foreign_headers", foreign_headers(setting.report), Goal::at_most, 0);
}

} // namespace bench
