// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One server for all test cases: redis-server, or the program that TENURE_REDIS_SERVER names.
#include "conformance/proxied_subject.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include "store/redis/backend.hpp"

#include <string>

namespace tenure::test
{

namespace
{

class RedisSubject final : public OneRedisSubject
{
public:
    RedisSubject()
        : OneRedisSubject(server().port())
    {
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), server().port());
    }
    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), proxy_port());
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
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::RedisSubject>();
}
