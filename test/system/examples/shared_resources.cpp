// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/shared_resources.cpp and fenced_resources.cpp: five workers of two services on three connections, a ledger
// and an archive. Some are killed while they use a connection, and one is stopped for longer than the ttl.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"
#include "system/support/service_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto resources_ttl = 1500ms;

/** Five workers of two services. */
class ResourceUsers
{
public:
    ResourceUsers(std::string const& url, std::string const& port, ScratchDirectory const& directory)
    {
        for (auto const* service : {"orders", "orders", "orders", "reports", "reports"})
            workers_.push_back(std::make_unique<ServiceProcess>(
                std::vector<std::string>{
                    std::string(TENURE_EXAMPLES) + "/shared_resources", url, service, port,
                    std::to_string(resources_ttl.count())},
                directory.file(std::to_string(workers_.size()) + ".log")));
    }

    [[nodiscard]] std::vector<std::unique_ptr<ServiceProcess>> const& all() const noexcept { return workers_; }

    /** Waits until the worker is in the middle of a use; which of the connections it uses. */
    [[nodiscard]] static std::string connection_of(ServiceProcess const& worker)
    {
        // not the present use, which may be at its end
        auto const uses = worker.count("uses");
        std::string last;
        REQUIRE(eventually(
            [&] {
                auto const lines = worker.lines();
                if (lines.empty() || worker.count("uses") == uses)
                    return false;
                last = lines.back();
                return last.starts_with("uses database:");
            },
            20s));
        return last.substr(0, std::string("uses database:0").size());
    }

    /** How often a connection was used. */
    [[nodiscard]] std::size_t uses(std::string const& connection) const
    {
        std::size_t count = 0;
        for (auto const& worker : workers_)
            count += worker->count(connection);
        return count;
    }

private:
    std::vector<std::unique_ptr<ServiceProcess>> workers_;
};

/** The most of each kind that the resources have seen in use at a time. */
std::map<std::string, int> most_in_use(ServiceProcess const& resources)
{
    std::map<std::string, int> most;
    for (auto const& line : resources.lines()) {
        std::istringstream text(line.starts_with("in use:") ? line.substr(7, line.find(',') - 7) : "");
        std::string kind;
        for (int count = 0; text >> kind >> count;)
            most[kind] = std::max(most[kind], count);
    }
    return most;
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "services share resources within their limits, and get back what a killed worker used",
    "[redis][resources]")
{
    ScratchDirectory const directory;
    auto const port = std::to_string(free_port());
    ServiceProcess resources(
        {std::string(TENURE_EXAMPLES) + "/fenced_resources", port}, directory.file("resources.log"));
    REQUIRE(eventually([&] { return resources.count("ready") > 0; }, 20s));
    ResourceUsers const users(server.url(), port, directory);

    for (std::size_t number : {0U, 1U, 4U}) {
        auto& victim = *users.all()[number];
        auto const connection = users.connection_of(victim);
        victim.kill();
        auto const before = users.uses(connection);
        CHECK(eventually([&] { return users.uses(connection) > before; }, resources_ttl + 5s));
        victim.start();
    }
    // no two workers had the same connection, the ledger or the archive
    CHECK(resources.count("ends a stalled use") == 0);

    auto& stalled = *users.all()[2];
    auto const is_ended = [&] { return resources.count("ends a stalled use") > 0; };
    // again, if a use ended while it was being stopped
    for (int attempt = 0; attempt < 5 && !is_ended(); ++attempt) {
        (void)users.connection_of(stalled);
        stalled.pause();
        (void)eventually(is_ended, resources_ttl + 3s);
        stalled.resume();
    }
    CHECK(is_ended());
    CHECK(eventually([&] { return stalled.count("not done") > 0; }, 10s));
    CHECK(users.connection_of(stalled).starts_with("uses database:"));

    for (auto const& worker : users.all())
        CHECK(worker->end(SIGTERM, 10s) == ExitStatus{0, 0});
    CHECK(resources.end(SIGTERM, 10s) == ExitStatus{0, 0});
    auto most = most_in_use(resources);
    std::cout << resources.count("in use") << " uses\n";
    CHECK(most["database"] == 3);
    CHECK(most["ledger"] == 1);
    CHECK(most["archive"] == 1);
    auto redis = server.client();
    CHECK(redis.keys("database:*").empty());
    CHECK(redis.keys("ledger").empty());
    CHECK(redis.keys("archive").empty());
}
