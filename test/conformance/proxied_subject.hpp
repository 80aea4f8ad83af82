// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/fault_proxy.hpp"
#include "harness/redis_client.hpp"

#include <tenure/conformance/subject.hpp>
#include <tenure/stores/lock_layout.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

/** A subject whose servers have proxies in front of them: replies are lost there. */
class ProxiedSubject : public conformance::Subject
{
public:
    std::string prefix() const override { return prefix_; }
    void lose_replies() override
    {
        for (auto const& proxy : proxies_)
            proxy->set(Direction::replies, {Fault::Kind::drop});
    }
    void heal() override
    {
        for (auto const& proxy : proxies_) {
            proxy->reset_connections();
            proxy->heal();
        }
    }

protected:
    explicit ProxiedSubject(std::string prefix = conformance::next_prefix())
        : prefix_(std::move(prefix))
    {
    }
    void add_proxy(std::uint16_t server_port) { proxies_.push_back(std::make_unique<FaultProxy>(server_port)); }
    [[nodiscard]] std::vector<std::unique_ptr<FaultProxy>> const& proxies() const noexcept { return proxies_; }

private:
    std::string prefix_;
    std::vector<std::unique_ptr<FaultProxy>> proxies_;
};

/** The layout of locks that TENURE_LOCK_LAYOUT asks for. */
[[nodiscard]] inline LockLayout lock_layout()
{
    char const* const layout = std::getenv("TENURE_LOCK_LAYOUT");
    return layout != nullptr && std::string_view(layout) == "redisson" ? LockLayout::redisson : LockLayout::tenure;
}

/** A subject with all keys on one Redis server, which has the only proxy. */
class OneRedisSubject : public ProxiedSubject
{
public:
    bool tells_tokens() const override { return false; }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        client_.call("SET", key, value, "PX", ttl.count());
    }
    void erase(std::string const& key) override { client_.call("DEL", key); }
    std::optional<std::string> value(std::string const& key) override
    {
        if (client_.call("TYPE", key).text != "hash")
            return client_.get(key);
        // a lock in Redisson's layout
        auto const fields = client_.call("HKEYS", key).elements;
        return fields.empty() ? std::nullopt : std::optional(fields.front().text);
    }

protected:
    explicit OneRedisSubject(std::uint16_t port)
        : OneRedisSubject(port, port)
    {
    }
    /** @param port      of the server
     *  @param reach_by  the port by which the store reaches it */
    OneRedisSubject(std::uint16_t port, std::uint16_t reach_by)
        : client_(port)
    {
        add_proxy(reach_by);
    }
    [[nodiscard]] std::uint16_t proxy_port() const { return proxies().front()->port(); }

private:
    RedisClient client_;
};

} // namespace tenure::test
