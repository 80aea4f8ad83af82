// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// As many independent servers as TENURE_REDLOCK_SERVERS says, which serve all test cases; what a person does is done on
// all of them.
#include "conformance/proxied_subject.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include "store/redis/redlock/backend.hpp"

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

class RedlockSubject final : public ProxiedSubject
{
public:
    RedlockSubject()
    {
        for (auto const& server : running_servers()) {
            clients_.push_back(server->client());
            add_proxy(server->port());
        }
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), running_servers());
    }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        for (auto& client : clients_)
            client.call("SET", key, value, "PX", ttl.count());
    }
    void erase(std::string const& key) override
    {
        for (auto& client : clients_)
            client.call("DEL", key);
    }
    std::optional<std::string> value(std::string const& key) override
    {
        std::map<std::optional<std::string>, std::size_t> votes;
        for (auto& client : clients_)
            if (auto const value = client.get(key); ++votes[value] > clients_.size() / 2)
                return value;
        return std::nullopt;
    }

    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), proxies());
    }
    bool claims_in_one_step() const override { return false; }

private:
    /** @param all  pointers to servers, or to the proxies in front of them */
    template <class All>
    static std::shared_ptr<Backend> connect_to(std::shared_ptr<Runtime> runtime, All const& all)
    {
        RedlockConfig config;
        for (auto const& one : all)
            config.servers.emplace_back().port = one->port();
        return redlock::make_backend(std::move(runtime), config, redis::socket_streams());
    }

    /// a connection of the test case to each server
    std::vector<RedisClient> clients_;
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::RedlockSubject>();
}
