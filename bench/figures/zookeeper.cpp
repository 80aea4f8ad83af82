// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include <tenure/features.hpp>

#include <cstdio>

#if TENURE_HAS_ZOOKEEPER

#include "figures/compared.hpp"
#include "harness/zookeeper_process.hpp"
#include "library/workloads.hpp"
#include "raw/zookeeper.hpp"
#include "raw/zookeeper_c_client.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench
{

namespace
{

constexpr unsigned keys = 64;

class ZookeeperObserver final : public Observer
{
public:
    explicit ZookeeperObserver(std::uint16_t port)
        : port_(port)
    {
        // the only client so far
        auto const first = requests_of_others();
        own_each_ = requests_of_others() - first;
        own_ = own_each_;
    }

    long long requests_of_others() override
    {
        auto const text = raw::zookeeper_word(port_, "mntr");
        watches_ = number(text, "zk_watch_count\t");
        return number(text, "zk_packets_received\t") - (own_ += own_each_);
    }
    [[nodiscard]] bool listened() const override { return watches_ > 0; }

private:
    [[nodiscard]] static long long number(std::string const& text, std::string_view name)
    {
        auto const position = text.find(name);
        if (position == std::string::npos)
            throw std::runtime_error("ZooKeeper does not tell " + std::string(name) + " " + text);
        return std::stoll(text.substr(position + name.size()));
    }

    std::uint16_t port_;
    /// packets of one look of this object, which the server counts too, and of all of them
    long long own_each_ = 0;
    long long own_ = 0;
    long long watches_ = 0;
};

} // namespace

void measure_zookeeper(Setting const& setting)
{
    if (!ZookeeperProcess::installed()) {
        std::printf("ZooKeeper: there is none on this machine, or no java in PATH, so it is not measured\n");
        return;
    }
    ZookeeperProcess const server;
    auto const port = server.port();
    auto const url = server.url();
    auto const seconds = 2 * setting.extent.pair_seconds;
    auto const pairs = setting.extent.pairs / 10;
    // a Java machine is slow until it has compiled what it does most, and each of the two asks for something else
    (void)split("", [=] { return raw::zookeeper_pairs(port, keys, 4 * seconds); }).run();
    (void)split("", [=] { return library::pairs(url, keys, 4 * seconds, {true, false}); }).run();
    auto const many = interleave(
        setting.extent.rounds,
        {split("raw", [=] { return raw::zookeeper_pairs(port, keys, seconds); }),
         split("locks", [=] { return library::pairs(url, keys, seconds, {true, false}); }),
         split("locks, default", [=] { return library::pairs(url, keys, seconds, library::by_default); }),
         split("one pool of 64", [=] { return library::pool_pairs(url, keys, seconds, {true, false}); }),
         split(
             "one pool of 64, default", [=] { return library::pool_pairs(url, keys, seconds, library::by_default); })});
    for (auto const& series : many)
        setting.report.medians("ZooKeeper, pairs, 64 in flight", series, "pairs/s");
    for (auto const& series : many)
        setting.report.medians("ZooKeeper, client CPU of a pair", series, "us", 1);
    setting.report.figure("zookeeper_pairs_64", many[1].median() / many[0].median(), Goal::at_least, 0.85);
    setting.report.ratio("default/plain, locks", many[2].median() / many[1].median());
    setting.report.ratio("default/plain, one pool of 64", many[4].median() / many[3].median());
    auto const one = interleave(
        setting.extent.rounds,
        {split("raw transactions", [=] { return raw::zookeeper_transaction_latency(port, pairs); }),
         split("lock", [=] { return library::pair_latency(url, pairs, {true, false}); }),
         split("lock, default", [=] { return library::pair_latency(url, pairs, library::by_default); }),
         split("raw, no more than create and delete", [=] { return raw::zookeeper_pair_latency(port, pairs); }),
         split("the C client's transactions", [=] { return raw::zookeeper_c_client_latency(port, pairs); })});
    for (auto const& series : one)
        setting.report.medians("ZooKeeper, p50 of a pair", series, "us");
    // in pairs per second, as the other one
    setting.report.figure("zookeeper_pairs_1", one[0].median() / one[1].median(), Goal::at_least, 0.85);
    setting.report.ratio("default/plain, one lock", one[2].median() / one[1].median());
    compare_handovers(
        setting, {"ZooKeeper", "zookeeper_handover", [=](int control) { raw::zookeeper_hold(port, control); },
                  [=](int control) { raw::zookeeper_wait(port, control); }, url,
                  [=] { return std::make_unique<ZookeeperObserver>(port); }});
}

} // namespace bench

#else

namespace bench
{

void measure_zookeeper(Setting const&)
{
    std::printf("ZooKeeper: this build is without it, so it is not measured\n");
}

} // namespace bench

#endif
