// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The master of a group: one server, two replicas and three sentinels, which serve all test cases of a process.
#include "conformance/proxied_subject.hpp"
#include "harness/paths.hpp"
#include "harness/sentinel_group.hpp"

#include "store/redis/backend.hpp"

#include <string>

namespace tenure::test
{

namespace
{

class SentinelSubject final : public OneRedisSubject
{
public:
    SentinelSubject()
        : OneRedisSubject(group().server(0).port())
    {
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return redis::make_backend(std::move(runtime), config(), redis::socket_streams());
    }
    /** Its connections to the servers, as the sentinels name them, pass through the proxy. */
    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        auto streams =
            [this, sockets = redis::socket_streams()](std::shared_ptr<Runtime> const& of, RedisConfig const& where) {
                auto way = where;
                if (where.port == group().server(0).port())
                    way.port = proxy_port();
                return sockets(of, way);
            };
        return redis::make_backend(std::move(runtime), config(), streams);
    }

private:
    static SentinelGroup& group()
    {
        static SentinelGroup group;
        return group;
    }

    static RedisSentinelConfig config()
    {
        RedisSentinelConfig config;
        config.master_name = SentinelGroup::master_name;
        for (auto const& sentinel : group().sentinels())
            config.sentinels.push_back({"127.0.0.1", sentinel->port()});
        return config;
    }
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::SentinelSubject>();
}
