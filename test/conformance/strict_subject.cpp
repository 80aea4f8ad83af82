// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One server behind strict_proxy.py, which refuses what the service or server refuses that TENURE_STRICT_MODES names.
#include "conformance/proxied_subject.hpp"
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include "store/redis/backend.hpp"
#include "store/redis/cluster/backend.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure::test
{

namespace
{

std::string modes()
{
    char const* const modes = std::getenv("TENURE_STRICT_MODES");
    return modes == nullptr ? "keys" : modes;
}

/** `redisson` is no mode of the proxy: the store keeps locks in that layout. */
LockLayout layout()
{
    return modes().find("redisson") != std::string::npos ? LockLayout::redisson : LockLayout::tenure;
}

bool looks_like_cluster()
{
    return modes().find("slots") != std::string::npos;
}

/** A redis-server and the proxy in front of it. */
class StrictServer : Immovable
{
public:
    StrictServer()
        : proxy_(
              {{"python3", source_path("test/conformance/strict_proxy.py"), std::to_string(port_),
                std::to_string(server_.port()), modes()}})
    {
        if (!eventually([&] { return answers(); }, std::chrono::seconds(10)))
            throw std::runtime_error("strict_proxy.py does not answer");
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::uint16_t server_port() const noexcept { return server_.port(); }

private:
    [[nodiscard]] bool answers() const
    {
        try {
            return RedisClient(port_).call("PING").text == "PONG";
        } catch (std::exception const&) {
            return false;
        }
    }

    RedisServer server_;
    std::uint16_t port_ = free_port();
    ChildProcess proxy_;
};

StrictServer const& strict_server()
{
    static StrictServer const server;
    return server;
}

class StrictSubject final : public OneRedisSubject
{
public:
    StrictSubject()
        : OneRedisSubject(strict_server().server_port(), strict_server().port())
    {
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), strict_server().port());
    }
    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), proxy_port());
    }
    // a claim in a cluster's pool looks first: see the subject of a cluster
    void lose_replies() override
    {
        if (!looks_like_cluster()) {
            ProxiedSubject::lose_replies();
            return;
        }
        for (auto const& proxy : proxies())
            proxy->set_when(Direction::requests, "/", Direction::replies, {Fault::Kind::drop});
    }

private:
    static std::shared_ptr<Backend> connect_to(std::shared_ptr<Runtime> runtime, std::uint16_t port)
    {
        if (looks_like_cluster()) {
            RedisClusterConfig config;
            config.seeds.push_back({"127.0.0.1", port});
            config.lock_layout = layout();
            // the one node names its own port, and all connections are led to this one
            auto streams =
                [port, sockets = redis::socket_streams()](std::shared_ptr<Runtime> const& at, RedisConfig const& node) {
                    auto led = node;
                    led.port = port;
                    return sockets(at, led);
                };
            return redis::make_cluster_backend(std::move(runtime), config, std::move(streams));
        }
        RedisConfig config;
        config.port = port;
        config.lock_layout = layout();
        return redis::make_backend(std::move(runtime), config, redis::socket_streams());
    }
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::StrictSubject>();
}
