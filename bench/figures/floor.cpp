// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "harness/program.hpp"
#include "raw/workloads.hpp"

#include <stdexcept>
#include <string>

namespace bench
{

namespace
{

/** `redis-benchmark -c 1` with the raw client's command. @returns microseconds per command */
Measurement redis_benchmark(std::uint16_t port, unsigned count)
{
    auto const output = run_program({"redis-benchmark", "-h", "127.0.0.1", "-p", std::to_string(port), "-c", "1", "-n",
                                     std::to_string(count), "--csv", "SET", "bench:floor",
                                     "bench-host:12345/0123456789abcdef0123456789abcdef", "PX", "10000"})
                            .output;
    // two lines: names and values; the second column is requests per second
    auto const values = output.find("\"SET ");
    auto const column = values == std::string::npos ? values : output.find("\",\"", values);
    if (column == std::string::npos)
        throw std::runtime_error("redis-benchmark answered\n" + output);
    return {1e6 / std::stod(output.substr(column + 3))};
}

} // namespace

void measure_floor(Setting const& setting)
{
    auto const port = setting.redis.port();
    auto const count = setting.extent.pairs;
    auto const all = interleave(
        setting.extent.rounds,
        {{"raw", [&] { return in_child(Place::same, [&] { return raw::commands(port, count); }); }},
         {"redis-benchmark -c 1",
          [&] { return in_child(Place::same, [&] { return redis_benchmark(port, count); }); }}});
    setting.redis.flush();
    for (auto const& series : all)
        setting.report.medians("SET, one in flight, same core", series, "us");
    setting.report.figure("raw_floor", all[0].median() / all[1].median(), Goal::at_most, 1.5);
}

} // namespace bench
