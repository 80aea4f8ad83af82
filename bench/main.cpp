// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"
#include "harness/awake.hpp"
#include "harness/job.hpp"
#include "library/run_job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace
{

struct Part {
    std::string_view name;
    void (*measure)(bench::Setting const&);
    /// not measured unless it is named
    bool on_demand = false;
};
constexpr auto parts = std::to_array<Part>({
    {"floor", bench::measure_floor},
    {"pairs", bench::measure_pairs},
    {"peers", bench::measure_peers},
    {"before", bench::measure_before},
    {"latency", bench::measure_latency},
    {"first_free", bench::measure_first_free},
    {"handover", bench::measure_handover},
    {"fairness", bench::measure_fairness},
    {"shares", bench::measure_shares},
    {"multi", bench::measure_multi},
    {"segments", bench::measure_segments},
    {"reentry", bench::measure_reentry},
    {"cluster_pairs", bench::measure_cluster_pairs},
    {"redlock_latency", bench::measure_redlock_latency},
    {"redlock_throughput", bench::measure_redlock_throughput},
    {"etcd", bench::measure_etcd},
    {"zookeeper", bench::measure_zookeeper},
#ifdef TENURE_BENCH_POSTGRESQL
    {"postgresql", bench::measure_postgresql},
#endif
    {"file", bench::measure_file},
    {"compile_time", bench::measure_compile_time},
    {"renewals", bench::measure_renewals},
    {"memory", bench::measure_memory},
    {"many_leases", bench::measure_many_leases},
    {"curves", bench::measure_curves, true},
});

constexpr std::string_view usage = R"(usage: tenure_bench [OPTION...]
       tenure_bench --workload NAME --url URL [WORKLOAD OPTION...]
Measures tenure against a raw socket client on a redis-server of its own, and prints one line per figure:
`name ratio goal ok|short`. Ends with 0 if every figure is within its goal, 1 if one is short, 2 on trouble.

  --quick               3 short rounds: minutes become seconds, and medians less sure
  --only PART           only this part; may be repeated. Parts: floor pairs peers before latency
                        first_free handover fairness shares multi segments
                        reentry cluster_pairs redlock_latency redlock_throughput
                        etcd zookeeper postgresql file compile_time renewals memory many_leases; curves only if it is named
  --rounds N            interleaved rounds of each figure (7)
  --let-sleep           idle cores may sleep, so that figures across cores carry the time they take to wake; without
                        it they are kept awake where the kernel allows it, which is for root
  --renewal-seconds S   length of one run of the renewals (60)
  --fairness-seconds S  length of one run of the contenders (15)
  --server PROGRAM      the server to start (redis-server)
  --peers FOLDER        compare with the programs that scripts/bench --peers has installed there
  --before PROGRAM      another tenure_bench, built with an older library: the parts before, fairness and cluster_pairs
                        run its workloads in the same rounds, and print after/before

With --workload it runs one workload against a server that is there already, and prints `result` and its values. Two
builds of the program can so be compared. Workloads: pairs pool_pairs pair_latency hold_many contend

  --url URL             the store
  --count N             keys, slots (contend: 1 is a lock), leases of 10 s (hold_many), or for pair_latency the pairs (64)
  --seconds S           length of the run (1)
  --hold MS             contend: how long each grant is held (0)
  --fair                pairs, contend: fair locks
  --plain               neither fencing nor notifications; otherwise default options
  --server-pid PID      pairs, pool_pairs: also report the CPU of this process; hold_many: the process to pause
  --pause MS            hold_many: pauses the server for so long at the end (0)
)";

struct Options {
    bench::Extent extent;
    std::string server = "redis-server";
    /// empty: they are not compared
    std::string peers;
    /// empty: compare with no other build
    std::string before;
    std::vector<std::string> only;
    bool let_sleep = false;

    [[nodiscard]] bool wants(Part const& part) const
    {
        return only.empty() ? !part.on_demand : std::ranges::find(only, part.name) != only.end();
    }
};

unsigned number(std::string_view option, std::string const& text)
{
    unsigned value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value == 0)
        throw std::invalid_argument(std::string(option) + " wants a number from 1, not " + text);
    return value;
}

std::string part_name(std::string const& text)
{
    for (auto const& part : parts)
        if (part.name == text)
            return text;
    throw std::invalid_argument("there is no part " + text);
}

Options parse(std::vector<std::string> const& arguments)
{
    Options options;
    for (std::size_t index = 0; index < arguments.size(); ++index) {
        auto const& option = arguments[index];
        auto const value = [&]() -> std::string const& {
            if (index + 1 == arguments.size())
                throw std::invalid_argument(option + " wants a value");
            return arguments[++index];
        };
        if (option == "--quick")
            options.extent = {3, 0.3, 5000, 100, 50, 10, 3};
        else if (option == "--only")
            options.only.push_back(part_name(value()));
        else if (option == "--rounds")
            options.extent.rounds = number(option, value());
        else if (option == "--let-sleep")
            options.let_sleep = true;
        else if (option == "--renewal-seconds")
            options.extent.renewal_seconds = number(option, value());
        else if (option == "--fairness-seconds")
            options.extent.contention_seconds = number(option, value());
        else if (option == "--server")
            options.server = value();
        else if (option == "--peers")
            options.peers = value();
        else if (option == "--before")
            options.before = value();
        else
            throw std::invalid_argument("unknown option " + option);
    }
    return options;
}

int measure(Options const& options)
{
    // children inherit what is buffered, and would print it again
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    bench::RedisProcess const redis(options.server);
    bench::Report report;
    double load = 0;
    ::getloadavg(&load, 1);
    std::printf(
        "tenure_bench: server %s, %u cores, load %.1f, %u rounds\n", redis.version().c_str(),
        std::thread::hardware_concurrency(), load, options.extent.rounds);
    std::optional<bench::Awake> awake;
    if (!options.let_sleep)
        awake.emplace();
    if (!awake || !awake->granted())
        report.note("idle cores may sleep here: figures across cores carry the time they take to wake");
    if (load > 0.5)
        report.note("the machine is not idle: only the ratios say something, and less than they should");
    for (auto const& part : parts)
        if (options.wants(part)) {
            std::printf("\n");
            part.measure({redis, options.extent, report, options.peers, options.before});
        }
    return report.finish() ? 0 : 1;
}

} // namespace

int main(int count, char** values)
{
    try {
        std::vector<std::string> const arguments(values + 1, values + count);
        for (auto const& argument : arguments)
            if (argument == "--help" || argument == "-h") {
                std::fwrite(usage.data(), 1, usage.size(), stdout);
                return 0;
            }
        if (!arguments.empty() && arguments.front() == "--workload") {
            bench::print_result(bench::library::run_job(bench::parse_job({arguments.begin() + 1, arguments.end()})));
            return 0;
        }
        return measure(parse(arguments));
    } catch (std::exception const& error) {
        std::fprintf(stderr, "tenure_bench: %s\n", error.what());
        return 2;
    }
}
