// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "servers.hpp"

#include "harness/child_process.hpp"
#include "harness/etcd_server.hpp"
#include "harness/redis_server.hpp"
#include "harness/zookeeper_server.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace tenure::teardown
{

namespace
{

template <class Server>
Stage stage_of_one()
{
    auto server = std::make_shared<Server const>();
    auto url = server->url();
    return {std::move(url), std::move(server)};
}

Stage redlock_stage()
{
    auto servers = std::make_shared<std::array<test::RedisServer, 3> const>();
    std::string url = "redlock://";
    for (auto const& server : *servers)
        url += (url.back() == '/' ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(server.port());
    return {std::move(url), std::move(servers)};
}

} // namespace

std::optional<Stage> set_stage(std::string const& store)
{
    if (store == "memory")
        return Stage{"memory://teardown", nullptr};
    if (store == "redis" || store == "redlock") {
        if (test::redis_server_program().empty())
            return std::nullopt;
        return store == "redis" ? stage_of_one<test::RedisServer>() : redlock_stage();
    }
    if (store == "etcd")
        return test::find_program("etcd").empty() ? std::nullopt : std::optional(stage_of_one<test::EtcdServer>());
    if (store == "zookeeper")
        return test::missing_zookeeper().empty() ? std::optional(stage_of_one<test::ZookeeperServer>()) : std::nullopt;
    throw std::invalid_argument("there is no store " + store + ": memory, redis, redlock, etcd, zookeeper");
}

} // namespace tenure::teardown
