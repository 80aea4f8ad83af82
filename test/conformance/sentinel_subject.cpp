// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The master of a group: one server, two replicas and three sentinels, which serve all test cases of a process.
#include "harness/fault_proxy.hpp"
#include "harness/paths.hpp"
#include "harness/sentinel_group.hpp"

#include "store/redis/backend.hpp"

#include <tenure/conformance/subject.hpp>

#include <string>

namespace tenure::test
{

namespace
{

class SentinelSubject final : public conformance::Subject
{
public:
    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return redis::make_backend(std::move(runtime), config(), redis::socket_streams());
    }
    std::string prefix() const override { return prefix_; }
    bool tells_tokens() const override { return false; }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        client_.call("SET", key, value, "PX", ttl.count());
    }
    void erase(std::string const& key) override { client_.call("DEL", key); }
    std::optional<std::string> value(std::string const& key) override { return client_.get(key); }

    /** Its connections to the servers, as the sentinels name them, pass through the proxy. */
    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        auto streams =
            [this, sockets = redis::socket_streams()](std::shared_ptr<Runtime> const& of, RedisConfig const& where) {
                auto way = where;
                if (where.port == group().server(0).port())
                    way.port = proxy_.port();
                return sockets(of, way);
            };
        return redis::make_backend(std::move(runtime), config(), streams);
    }
    void lose_replies() override { proxy_.set(Direction::replies, {Fault::Kind::drop}); }
    void heal() override
    {
        proxy_.reset_connections();
        proxy_.heal();
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

    std::string prefix_ = conformance::next_prefix();
    RedisClient client_ = group().server(0).client();
    FaultProxy proxy_{group().server(0).port()};
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::SentinelSubject>();
}
