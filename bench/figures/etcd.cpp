// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/compared.hpp"

#include "harness/etcd_process.hpp"
#include "library/workloads.hpp"
#include "raw/etcd.hpp"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench
{

namespace
{

/// as EtcdConfig has it
constexpr unsigned connections = 32;
constexpr unsigned keys = 64;

class EtcdObserver final : public Observer
{
public:
    explicit EtcdObserver(std::uint16_t port)
        : port_(port)
    {
    }

    /** Transactions: neither the renewal of leases nor a look at these numbers is one. */
    long long requests_of_others() override
    {
        auto const metrics = raw::etcd_metrics(port_);
        watchers_ = number(metrics, "\netcd_debugging_mvcc_watcher_total ");
        return number(
            metrics, "\ngrpc_server_started_total{grpc_method=\"Txn\",grpc_service=\"etcdserverpb.KV\","
                     "grpc_type=\"unary\"} ");
    }
    [[nodiscard]] bool listened() const override { return watchers_ > 0; }

private:
    [[nodiscard]] static long long number(std::string const& metrics, std::string_view name)
    {
        auto const position = metrics.find(name);
        if (position == std::string::npos)
            throw std::runtime_error("etcd has no metric" + std::string(name));
        // large ones are written with an exponent
        return static_cast<long long>(std::stod(metrics.substr(position + name.size(), 32)));
    }

    std::uint16_t port_;
    long long watchers_ = 0;
};

} // namespace

void measure_etcd(Setting const& setting)
{
    if (!EtcdProcess::installed()) {
        std::printf("etcd: there is none in PATH, so it is not measured\n");
        return;
    }
    EtcdProcess const server;
    auto const port = server.port();
    auto const url = server.url();
    // each write waits for a disk: short runs say little
    auto const seconds = 2 * setting.extent.pair_seconds;
    auto const pairs = setting.extent.pairs / 20;
    auto const many = interleave(
        setting.extent.rounds,
        {split("raw", [=] { return raw::etcd_pairs(port, keys, connections, seconds); }),
         split("locks", [=] { return library::pairs(url, keys, seconds, {true, false}); }),
         split("locks, default", [=] { return library::pairs(url, keys, seconds, library::by_default); }),
         split("one pool of 64", [=] { return library::pool_pairs(url, keys, seconds, {true, false}); }),
         split(
             "one pool of 64, default", [=] { return library::pool_pairs(url, keys, seconds, library::by_default); })});
    for (auto const& series : many)
        setting.report.medians("etcd, pairs, 64 in flight", series, "pairs/s");
    for (auto const& series : many)
        setting.report.medians("etcd, client CPU of a pair", series, "us", 1);
    setting.report.figure("etcd_pairs_64", many[1].median() / many[0].median(), Goal::at_least, 0.85);
    setting.report.ratio("default/plain, locks", many[2].median() / many[1].median());
    setting.report.ratio("default/plain, one pool of 64", many[4].median() / many[3].median());
    auto const one = interleave(
        setting.extent.rounds,
        {split("raw", [=] { return raw::etcd_pair_latency(port, pairs); }),
         split("lock", [=] { return library::pair_latency(url, pairs, {true, false}); }),
         split("lock, default", [=] { return library::pair_latency(url, pairs, library::by_default); })});
    for (auto const& series : one)
        setting.report.medians("etcd, p50 of a pair", series, "us");
    // in pairs per second, as the other one
    setting.report.figure("etcd_pairs_1", one[0].median() / one[1].median(), Goal::at_least, 0.85);
    setting.report.ratio("default/plain, one lock", one[2].median() / one[1].median());
    compare_handovers(
        setting, {"etcd", "etcd_handover", [=](int control) { raw::etcd_hold(port, control); },
                  [=](int control) { raw::etcd_wait(port, control); }, url,
                  [=] { return std::make_unique<EtcdObserver>(port); }});
}

} // namespace bench
