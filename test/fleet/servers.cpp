// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/servers.hpp"

#include "harness/child_process.hpp"
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "harness/fault_proxy.hpp"
#ifdef TENURE_TESTS_POSTGRESQL
#include "harness/postgresql_server.hpp"
#endif
#include "harness/redis_cluster.hpp"
#include "harness/redis_server.hpp"
#include "harness/sentinel_group.hpp"
#include "harness/zookeeper_server.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

namespace tenure::fleet
{

namespace
{

using namespace std::chrono_literals;

std::string const persistent = "appendonly yes";

std::string missing_redis()
{
    return test::redis_server_program().empty() ? "no redis-server in PATH, and TENURE_REDIS_SERVER names none" : "";
}

/** A server of its own closes the connections of all clients. A replica's connection is not a client's. */
void cut_clients(std::uint16_t port)
{
    test::RedisClient client{port};
    for (auto const* type : {"normal", "pubsub"})
        client.send({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
}

class NoServers final : public Servers
{
public:
    [[nodiscard]] std::string url() const override { return "memory://fleet"; }
    void kill() override {}
    void start() override {}
    void cut_connections() override {}
};

/** One server, or those of Redlock. */
class RedisServers final : public Servers
{
public:
    explicit RedisServers(std::size_t count)
    {
        test::RedisServerOptions options;
        options.config = {persistent};
        while (servers_.size() < count)
            servers_.push_back(std::make_unique<test::RedisServer>(options));
    }
    [[nodiscard]] std::string url() const override
    {
        if (servers_.size() == 1)
            return servers_.front()->url();
        std::string hosts;
        for (auto const& server : servers_)
            hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(server->port()));
        return "redlock://" + hosts;
    }
    void kill() override
    {
        for (auto const& server : servers_)
            server->kill();
    }
    void start() override
    {
        for (auto const& server : servers_)
            server->start();
    }
    void cut_connections() override
    {
        for (auto const& server : servers_)
            cut_clients(server->port());
    }

private:
    std::vector<std::unique_ptr<test::RedisServer>> servers_;
};

class ClusterServers final : public Servers
{
public:
    [[nodiscard]] std::string url() const override { return cluster_.url(); }
    void kill() override
    {
        for (std::size_t node = 0; node < cluster_.size(); ++node)
            cluster_.server(node).kill();
    }
    void start() override
    {
        for (std::size_t node = 0; node < cluster_.size(); ++node)
            cluster_.server(node).start();
        if (!test::eventually([this] { return cluster_.what_is_missing().empty(); }, 30s, 20ms))
            throw std::runtime_error("the cluster did not come up again: " + cluster_.what_is_missing());
    }
    void cut_connections() override
    {
        for (std::size_t node = 0; node < cluster_.size(); ++node)
            cut_clients(cluster_.port(node));
    }

private:
    static test::RedisClusterOptions options()
    {
        test::RedisClusterOptions chosen;
        chosen.replicas = 0;
        chosen.node.config = {persistent};
        return chosen;
    }

    test::RedisCluster cluster_{options()};
};

class SentinelServers final : public Servers
{
public:
    [[nodiscard]] std::string url() const override { return group_.url(); }
    void kill() override { group_.server(0).kill(); }
    void start() override { group_.server(0).start(); }
    void cut_connections() override
    {
        cut_clients(group_.server(0).port());
        for (auto const& sentinel : group_.sentinels())
            cut_clients(sentinel->port());
    }

private:
    static test::SentinelGroupOptions options()
    {
        test::SentinelGroupOptions chosen;
        chosen.replicas = 1;
        // no failover, which may lose leases by design: the master comes back before
        chosen.down_after = 60s;
        chosen.server_config = {persistent};
        return chosen;
    }

    test::SentinelGroup group_{options()};
};

class EtcdServers final : public Servers
{
public:
    explicit EtcdServers(bool proxied)
    {
        if (proxied)
            proxy_.emplace(server_.port());
    }
    [[nodiscard]] std::string url() const override
    {
        return proxy_ ? "etcd://127.0.0.1:" + std::to_string(proxy_->port()) : server_.url();
    }
    void kill() override { server_.kill(); }
    void start() override { server_.start(); }
    void cut_connections() override { proxy_.value().reset_connections(); }

private:
    test::EtcdServer server_;
    std::optional<test::FaultProxy> proxy_;
};

#ifdef TENURE_TESTS_POSTGRESQL
class PostgresqlServers final : public Servers
{
public:
    [[nodiscard]] std::string url() const override { return server_.url(); }
    void kill() override { server_.kill(); }
    void start() override { server_.start(); }
    void cut_connections() override
    {
        test::PostgresqlPerson(server_.port())
            .ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND "
                 "pid <> pg_backend_pid()");
    }

private:
    test::PostgresqlServer server_;
};
#endif

class ZookeeperServers final : public Servers
{
public:
    explicit ZookeeperServers(bool proxied)
    {
        if (proxied)
            proxy_.emplace(server_.port());
    }
    [[nodiscard]] std::string url() const override
    {
        auto const direct = server_.url();
        return proxy_ ? "zookeeper://127.0.0.1:" + std::to_string(proxy_->port()) + direct.substr(direct.find('?'))
                      : direct;
    }
    void kill() override { server_.kill(); }
    void start() override
    {
        server_.start();
        server_.wait_until_serving();
    }
    void cut_connections() override { proxy_.value().reset_connections(); }

private:
    test::ZookeeperServer server_;
    std::optional<test::FaultProxy> proxy_;
};

std::string missing_nothing()
{
    return {};
}

std::string missing_etcd()
{
    return test::find_program("etcd").empty() ? "no etcd in PATH" : "";
}

constexpr std::array kinds{
    StoreKind{
        "memory", missing_nothing, [](bool) -> std::unique_ptr<Servers> { return std::make_unique<NoServers>(); },
        false},
    StoreKind{
        "redis", missing_redis,
        [](bool) -> std::unique_ptr<Servers> { return std::make_unique<RedisServers>(std::size_t{1}); }},
    StoreKind{
        "sentinel", missing_redis,
        [](bool) -> std::unique_ptr<Servers> { return std::make_unique<SentinelServers>(); }},
    StoreKind{
        "cluster", missing_redis, [](bool) -> std::unique_ptr<Servers> { return std::make_unique<ClusterServers>(); }},
    StoreKind{
        "redlock", missing_redis,
        [](bool) -> std::unique_ptr<Servers> { return std::make_unique<RedisServers>(std::size_t{3}); }},
    StoreKind{
        "etcd", missing_etcd,
        [](bool proxied) -> std::unique_ptr<Servers> { return std::make_unique<EtcdServers>(proxied); }},
#ifdef TENURE_TESTS_POSTGRESQL
    StoreKind{
        "postgresql", test::missing_postgresql,
        [](bool) -> std::unique_ptr<Servers> { return std::make_unique<PostgresqlServers>(); }},
#endif
    StoreKind{"zookeeper", test::missing_zookeeper, [](bool proxied) -> std::unique_ptr<Servers> {
                  return std::make_unique<ZookeeperServers>(proxied);
              }}};

} // namespace

std::span<StoreKind const> store_kinds()
{
    return kinds;
}

} // namespace tenure::fleet
