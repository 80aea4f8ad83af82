// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/production.cpp: a sentinel and a server with TLS and an ACL user. The password is changed while the service
// runs, its connections are closed, and its loop is blocked; and what is wrong at the start is named.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/sentinel_group.hpp"
#include "system/support/certificate_authority.hpp"
#include "system/support/running_store.hpp"
#include "system/support/service_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

RedisServerOptions production_server(Authority const& authority)
{
    authority.issue("good", here);
    auto options = tls_options(authority, "good");
    // the permissions that docs/integrators/redis-protocol.md lists
    options.config.push_back(
        "user orders on >first resetchannels -@all +multi +exec +eval +evalsha +get +mget +exists +set +del +pexpire "
        "+pttl +incr +time +subscribe +unsubscribe +publish +lpos +rpush +lpush +lpop +lrem +llen ~orders:* "
        "~tenure:fence "
        "&{orders:*}:free ~{orders:*}:waiting ~{orders:*}:watched");
    return options;
}

SentinelGroupOptions production_sentinel(Authority const& authority)
{
    SentinelGroupOptions options;
    options.replicas = 0;
    options.sentinels = 1;
    options.sentinel_tls = true;
    options.tls_ca = authority.ca();
    options.tls_certificate = authority.certificate("good");
    options.tls_key = authority.key("good");
    // the sentinel reaches the server by TLS, and names that port
    options.sentinel_config = {"tls-replication yes"};
    return options;
}

/** The servers, and the settings of the service. */
class Production
{
public:
    Production()
        : server_(production_server(authority_))
        , sentinel_(production_sentinel(authority_), server_.tls_port())
    {
        write_password("first");
        settings = {
            {"STORE_SENTINELS", "127.0.0.1:" + std::to_string(sentinel_.tls_port())},
            {"STORE_MASTER", SentinelGroup::master_name},
            {"STORE_USER", "orders"},
            {"STORE_PASSWORD_FILE", directory.file("password")},
            {"STORE_CA", authority_.ca()},
            {"METRICS_FILE", directory.file("metrics")}};
    }

    void write_password(std::string const& password) const
    {
        std::ofstream(directory.file("password.new")) << password << '\n';
        std::filesystem::rename(directory.file("password.new"), directory.file("password"));
    }

    [[nodiscard]] ServiceProcess start(std::string const& name) const
    {
        std::vector<std::string> command{"env"};
        for (auto const& [variable, value] : settings)
            command.push_back(variable + '=' + value);
        command.push_back(std::string(TENURE_EXAMPLES) + "/production");
        return {command, directory.file(name + ".log")};
    }

    /** The value of a metric; -1 while there is none. */
    [[nodiscard]] long metric(std::string const& name) const
    {
        std::ifstream file(directory.file("metrics"));
        long value = 0;
        for (std::string key; file >> key >> value;)
            if (key == name)
                return value;
        return -1;
    }

    [[nodiscard]] RedisServer& server() noexcept { return server_; }

    ScratchDirectory directory;
    /// environment variables of the service
    std::map<std::string, std::string> settings;

private:
    Authority authority_;
    RedisServer server_;
    SentinelProcess sentinel_;
};

} // namespace

TEST_CASE(
    "a service with a blocked loop keeps its lease, also when its password is changed under way", "[redis][production]")
{
    require_redis();
    Production production;
    auto service = production.start("service");
    auto const imports_more = [&](std::size_t batches) {
        auto const before = service.count("imported");
        return eventually([&] { return service.count("imported") >= before + batches; }, 30s);
    };
    REQUIRE(imports_more(2));

    production.write_password("second");
    auto redis = production.server().client();
    redis.call("ACL", "SETUSER", "orders", "resetpass", ">second");
    redis.call("CLIENT", "KILL", "USER", "orders");
    CHECK(imports_more(3));

    CHECK(production.metric("tenure_held") == 1);
    CHECK(production.metric("tenure_renewals_total") > 3);
    CHECK(production.metric("tenure_lost_total") == 0);
    // journald's priorities
    CHECK(service.count("<6>") > 0);
    CHECK(service.end(SIGTERM, 10s) == ExitStatus{0, 0});
    CHECK(production.metric("tenure_held") == 0);
    CHECK(redis.keys("orders:import").empty());
}

TEST_CASE("a service in production fails at its start with the reason, and shows no secret", "[redis][production]")
{
    require_redis();
    Production production;
    Authority const stranger;
    struct Fault {
        std::string name;
        std::string setting;
        std::string value;
        std::string words;
    };
    std::string const password_file = production.directory.file("wrong");
    std::ofstream(password_file) << "geheim\n";
    for (auto const& fault : std::vector<Fault>{
             {"password", "STORE_PASSWORD_FILE", password_file, "the store rejected the user or password"},
             {"file", "STORE_PASSWORD_FILE", "/no/such/file", "cannot read a password from /no/such/file"},
             {"user", "STORE_USER", "nobody-else", "the store rejected the user or password"},
             {"certificate", "STORE_CA", stranger.ca(), "certificate"},
             {"empty", "STORE_MASTER", "", "set the environment variable STORE_MASTER"},
             {"no port", "STORE_SENTINELS", "127.0.0.1", "STORE_SENTINELS: write HOST:PORT"},
             {"port 0", "STORE_SENTINELS", "127.0.0.1:0", "STORE_SENTINELS: write HOST:PORT"}}) {
        INFO(fault.name);
        auto const usual = production.settings[fault.setting];
        production.settings[fault.setting] = fault.value;
        auto service = production.start(fault.name);
        production.settings[fault.setting] = usual;
        CHECK(service.wait_for(9s) == ExitStatus{1, 0});
        auto const lines = service.lines();
        CHECK(std::ranges::any_of(lines, [&](auto const& line) {
            return line.starts_with("<3>") && line.find(fault.words) != std::string::npos;
        }));
        CHECK(std::ranges::none_of(lines, [](auto const& line) { return line.find("geheim") != std::string::npos; }));
    }
}
