// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A cluster of six nodes, which serves all test cases. TENURE_CLUSTER_TAG stands in front of all keys: with a hash tag
// they are in one slot, without they spread over the masters.
#include "conformance/proxied_subject.hpp"
#include "harness/redis_cluster.hpp"

#include "store/redis/cluster/backend.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace
{

class ClusterSubject final : public ProxiedSubject
{
public:
    ClusterSubject()
        : ProxiedSubject(tag() + conformance::next_prefix())
    {
        for (std::size_t i = 0; i < cluster().size(); ++i)
            add_proxy(cluster().port(i));
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return redis::make_cluster_backend(std::move(runtime), config(), redis::socket_streams());
    }
    bool tells_tokens() const override { return false; }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        cluster().call({"SET", key, value, "PX", std::to_string(ttl.count())});
    }
    void erase(std::string const& key) override { cluster().call({"DEL", key}); }
    std::optional<std::string> value(std::string const& key) override
    {
        bool const is_hash = cluster().call({"TYPE", key}).text == "hash";
        auto reply = cluster().call({is_hash ? "HKEYS" : "GET", key});
        if (is_hash)
            return reply.elements.empty() ? std::nullopt : std::optional(reply.elements.front().text);
        return reply.is_null() ? std::nullopt : std::optional(reply.text);
    }

    // the nodes tell each other's true ports, so each connection is led to the proxy in front of its node
    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return redis::make_cluster_backend(
            std::move(runtime), config(),
            [this, streams = redis::socket_streams()](std::shared_ptr<Runtime> const& at, RedisConfig const& node) {
                auto led = node;
                for (std::size_t i = 0; i < cluster().size(); ++i)
                    if (cluster().port(i) == node.port)
                        led.port = proxies()[i]->port();
                return streams(at, led);
            });
    }
    // From the next command on that names an owner, and so may take or change a key: a claim in a pool over all nodes
    // looks first, and without an answer to that it asks for nothing. Only owners have a "/" in these tests.
    void lose_replies() override
    {
        for (auto const& proxy : proxies())
            proxy->set_when(Direction::requests, "/", Direction::replies, {Fault::Kind::drop});
    }

private:
    static RedisCluster& cluster()
    {
        static RedisCluster cluster;
        return cluster;
    }
    static std::string tag()
    {
        char const* const tag = std::getenv("TENURE_CLUSTER_TAG");
        return tag == nullptr ? "" : tag;
    }
    [[nodiscard]] static RedisClusterConfig config()
    {
        RedisClusterConfig config;
        config.lock_layout = lock_layout();
        // a replica among them: any node can be asked
        for (std::size_t const node : {std::size_t{4}, std::size_t{1}})
            config.seeds.push_back({"127.0.0.1", cluster().port(node)});
        return config;
    }
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_redis();
    return std::make_unique<test::ClusterSubject>();
}
