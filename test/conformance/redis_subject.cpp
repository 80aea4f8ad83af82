// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One server for all test cases: redis-server, or the program that TENURE_REDIS_SERVER names, or miniredis, if
// TENURE_MINIREDIS names its program.
#include "conformance/proxied_subject.hpp"
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include "store/redis/backend.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

namespace tenure::test
{

namespace
{

std::uint16_t start_miniredis(char const* program)
{
    auto const port = free_port();
    static ChildProcess const server({{program, std::to_string(port)}});
    auto const answers = [port] {
        try {
            return RedisClient(port).call("PING").text == "PONG";
        } catch (std::exception const&) {
            return false;
        }
    };
    if (!eventually(answers, std::chrono::seconds(10)))
        throw std::runtime_error(std::string(program) + " does not answer");
    return port;
}

class RedisSubject final : public OneRedisSubject
{
public:
    RedisSubject()
        : OneRedisSubject(port())
    {
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), port());
    }
    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return connect_to(std::move(runtime), proxy_port());
    }

private:
    static std::uint16_t port()
    {
        if (char const* const miniredis = std::getenv("TENURE_MINIREDIS")) {
            static auto const port = start_miniredis(miniredis);
            return port;
        }
        static RedisServer const server;
        return server.port();
    }
    static std::shared_ptr<Backend> connect_to(std::shared_ptr<Runtime> runtime, std::uint16_t port)
    {
        RedisConfig config;
        config.port = port;
        config.lock_layout = lock_layout();
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
