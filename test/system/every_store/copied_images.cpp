// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Two copies of one memory image (a snapshot of a virtual machine, CRIU) never hold one key. They have all bytes in
// common that were drawn before their acquisitions, the worker's name and the second.
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "harness/fault_proxy.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/zookeeper_server.hpp"
#include "system/support/service_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;

namespace
{

auto const key = "copied";

/** A copy that runs until its object ends. */
class Copy
{
public:
    explicit Copy(std::string const& url)
        : process_{{test_program("copied_process"), url, key, "6000", "3000"}, directory_.file("output")}
    {
        INFO(output());
        REQUIRE(eventually([this] { return process_.count("ready") == 1; }, 20s));
    }

    void resume() { process_.signal(SIGUSR1); }
    /** `held`, or the error that its acquisition ended with. */
    [[nodiscard]] std::string outcome()
    {
        // the line behind `ready`; lines of the log begin with the store
        std::string said;
        (void)eventually(
            [&] {
                for (auto const& line : process_.lines())
                    if (line == "held" || line.starts_with("others held") || line.starts_with("the store"))
                        said = line;
                return !said.empty();
            },
            20s);
        return said.empty() ? output() : said;
    }

private:
    [[nodiscard]] std::string output() const
    {
        std::string text;
        for (auto const& line : process_.lines())
            text += line + "\n";
        return text;
    }

    ScratchDirectory directory_;
    ServiceProcess process_;
};

/** One copy acquires. The answer to the first claim of the other one is lost, so that it asks again whether it has got
 * the key.
 *  @param claim  bytes that a claim of a second copy sends first */
void check_copies(
    std::string const& url, std::string const& proxied_url, std::vector<std::unique_ptr<FaultProxy>> const& proxies,
    std::string const& claim)
{
    Copy first{url};
    Copy second{proxied_url};
    first.resume();
    REQUIRE(first.outcome() == "held");
    for (auto const& proxy : proxies)
        proxy->set_when(Direction::requests, claim, Direction::replies, {.kind = Fault::Kind::drop});
    second.resume();
    for (auto const& proxy : proxies)
        REQUIRE(proxy->wait_seen());
    for (auto const& proxy : proxies) {
        proxy->reset_connections();
        proxy->heal();
    }
    CHECK(second.outcome() == "others held it until the wait ended: wait longer, or enlarge the pool if it is one");
}

std::string hosts(std::vector<std::uint16_t> const& ports)
{
    std::string text;
    for (auto const port : ports)
        text += (text.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    return text;
}

void check_redis(std::string const& scheme, std::size_t servers)
{
    require_redis();
    std::vector<std::unique_ptr<RedisServer>> running;
    std::vector<std::unique_ptr<FaultProxy>> proxies;
    std::vector<std::uint16_t> direct;
    std::vector<std::uint16_t> proxied;
    for (std::size_t i = 0; i < servers; ++i) {
        running.push_back(std::make_unique<RedisServer>());
        direct.push_back(running.back()->port());
        proxies.push_back(std::make_unique<FaultProxy>(direct.back()));
        proxied.push_back(proxies.back()->port());
    }
    check_copies(scheme + hosts(direct), scheme + hosts(proxied), proxies, key);
}

} // namespace

TEST_CASE("two copies of one memory image never hold one key on Redis", "[redis][copies]")
{
    check_redis("redis://", 1);
}

TEST_CASE("two copies of one memory image never hold one key of Redlock", "[redlock][copies]")
{
    check_redis("redlock://", 3);
}

TEST_CASE_METHOD(EtcdTest, "two copies of one memory image never hold one key on etcd", "[etcd][copies]")
{
    std::vector<std::unique_ptr<FaultProxy>> proxies;
    proxies.push_back(std::make_unique<FaultProxy>(server.port()));
    check_copies(server.url(), "etcd://" + hosts({proxies.front()->port()}), proxies, "kv/txn");
}

TEST_CASE_METHOD(ZookeeperTest, "two copies of one memory image never hold one key on ZooKeeper", "[zookeeper][copies]")
{
    std::vector<std::unique_ptr<FaultProxy>> proxies;
    proxies.push_back(std::make_unique<FaultProxy>(server.port()));
    auto const direct = server.url();
    check_copies(
        direct, "zookeeper://" + hosts({proxies.front()->port()}) + direct.substr(direct.find('?')), proxies, key);
}
