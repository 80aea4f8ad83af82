// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/fault_proxy.hpp"
#include "harness/zookeeper_server.hpp"
#include "store/zookeeper/backend.hpp"
#include "store/zookeeper/config.hpp"
#include "system/support/live_backend.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tenure::test
{

/** The server of the tests that leave it as they found it. Skips the test where ZooKeeper is not installed. */
[[nodiscard]] inline ZookeeperServer& shared_zookeeper()
{
    require_zookeeper();
    static ZookeeperServer one;
    return one;
}

/** A backend alone; its connections to the server pass through the proxy. */
class ZookeeperLine
{
public:
    /** @param ttl  of the keys that it takes */
    ZookeeperLine(ZookeeperServer& server, std::chrono::milliseconds ttl)
        : proxy(server.port())
        , client([&](std::shared_ptr<Runtime> runtime) {
            auto config = zookeeper::config_from(parse_url(server.url()));
            config.servers[0].port = proxy.port();
            return zookeeper::make_backend(std::move(runtime), config);
        })
        , ttl_(ttl)
    {
    }

    [[nodiscard]] ClaimReply
    claim(KeyRangePtr const& range, std::string const& who, std::optional<std::chrono::milliseconds> ttl = std::nullopt)
    {
        return client.claim({range, who, ttl.value_or(ttl_), client.now() + std::chrono::seconds{10}, true, {}});
    }
    [[nodiscard]] ClaimPtr
    take(KeyRangePtr const& range, std::string const& who, std::optional<std::chrono::milliseconds> ttl = std::nullopt)
    {
        auto const granted = expect<Granted>(claim(range, who, ttl));
        auto held = std::make_shared<Claim>();
        held->range = range;
        held->owner = who;
        held->index = granted.index;
        held->fencing_token = granted.fencing_token;
        held->handle = granted.handle;
        return held;
    }
    /** Bytes of the direction that the proxy has not passed on. */
    [[nodiscard]] std::size_t kept(Direction direction) const
    {
        return proxy.received(direction) - proxy.passed(direction);
    }
    void hold(Direction direction) { proxy.set(direction, {.kind = Fault::Kind::hold}); }
    void pass(Direction direction) { proxy.set(direction, {}); }

    FaultProxy proxy;
    LiveBackend client;

private:
    std::chrono::milliseconds ttl_;
};

} // namespace tenure::test
