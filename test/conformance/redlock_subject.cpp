// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// As many independent servers as TENURE_REDLOCK_SERVERS says, which serve all test cases; what a person does is done on
// all of them.
#include "harness/fault_proxy.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include "store/redis/redlock/backend.hpp"

#include <tenure/conformance/subject.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tenure::test
{

namespace
{

/** A test case's connection to one of the servers, and a way to it whose replies can be lost. */
struct Server {
    explicit Server(RedisServer& running)
        : server(running)
    {
    }

    RedisServer& server;
    RedisClient client = server.client();
    FaultProxy proxy{server.port()};
};

std::vector<std::unique_ptr<RedisServer>> const& running_servers()
{
    static auto const servers = [] {
        auto const* const count = std::getenv("TENURE_REDLOCK_SERVERS");
        std::vector<std::unique_ptr<RedisServer>> all(count == nullptr ? 3 : std::stoul(count));
        std::ranges::generate(all, [] { return std::make_unique<RedisServer>(); });
        return all;
    }();
    return servers;
}

class RedlockSubject final : public conformance::Subject
{
public:
    RedlockSubject()
    {
        for (auto const& server : running_servers())
            servers_.push_back(std::make_unique<Server>(*server));
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), [](Server& server) { return server.server.port(); });
    }
    std::string prefix() const override { return prefix_; }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        for (auto const& server : servers_)
            server->client.call("SET", key, value, "PX", ttl.count());
    }
    void erase(std::string const& key) override
    {
        for (auto const& server : servers_)
            server->client.call("DEL", key);
    }
    std::optional<std::string> value(std::string const& key) override
    {
        std::map<std::optional<std::string>, std::size_t> votes;
        for (auto const& server : servers_)
            if (auto const value = server->client.get(key); ++votes[value] > servers_.size() / 2)
                return value;
        return std::nullopt;
    }

    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), [](Server& server) { return server.proxy.port(); });
    }
    bool claims_in_one_step() const override { return false; }
    void lose_replies() override
    {
        for (auto const& server : servers_)
            server->proxy.set(Direction::replies, {Fault::Kind::drop});
    }
    void heal() override
    {
        for (auto const& server : servers_) {
            server->proxy.reset_connections();
            server->proxy.heal();
        }
    }

private:
    template <class PortOf>
    std::shared_ptr<Backend> connect_to(std::shared_ptr<Runtime> runtime, PortOf port_of)
    {
        RedlockConfig config;
        for (auto const& server : servers_)
            config.servers.emplace_back().port = port_of(*server);
        return redlock::make_backend(std::move(runtime), config, redis::socket_streams());
    }

    std::string prefix_ = conformance::next_prefix();
    std::vector<std::unique_ptr<Server>> servers_;
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::RedlockSubject>();
}
