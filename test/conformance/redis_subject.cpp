// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One server for all test cases: redis-server, or the program that TENURE_REDIS_SERVER names.
#include "harness/fault_proxy.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include "store/redis/backend.hpp"

#include <tenure/conformance/subject.hpp>

#include <string>

namespace tenure::test
{

namespace
{

class RedisSubject final : public conformance::Subject
{
public:
    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), server().port());
    }
    std::string prefix() const override { return prefix_; }
    bool tells_tokens() const override { return false; }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        client_.call("SET", key, value, "PX", ttl.count());
    }
    void erase(std::string const& key) override { client_.call("DEL", key); }
    std::optional<std::string> value(std::string const& key) override { return client_.get(key); }

    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), proxy_.port());
    }
    void lose_replies() override { proxy_.set(Direction::replies, {Fault::Kind::drop}); }
    void heal() override
    {
        proxy_.reset_connections();
        proxy_.heal();
    }

private:
    static RedisServer& server()
    {
        static RedisServer server;
        return server;
    }
    static std::shared_ptr<Backend> connect_to(std::shared_ptr<Runtime> runtime, std::uint16_t port)
    {
        RedisConfig config;
        config.port = port;
        return redis::make_backend(std::move(runtime), config, redis::socket_streams());
    }

    std::string prefix_ = conformance::next_prefix();
    RedisClient client_ = server().client();
    FaultProxy proxy_{server().port()};
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::RedisSubject>();
}
