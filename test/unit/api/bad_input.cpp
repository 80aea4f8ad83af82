// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Options that cannot work: the user gets an exception that names the field, its value and the rule, before
// anything is sent, and documented word for word.
#include "harness/documented.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** The message of std::invalid_argument; fails on another exception, and if there is none. */
std::string refusal(std::function<void()> const& mistake)
{
    try {
        mistake();
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    FAIL("nothing was refused");
    return {};
}

struct Mistake {
    std::string field;
    std::string value;
    std::function<void(Store const&)> make;
};

template <class Change>
Mistake in_lock(std::string field, std::string value, Change change)
{
    return {std::move(field), std::move(value), [change](Store const& store) {
                LockConfig config{.key = "key", .ttl = 3s, .lease = {}};
                change(config);
                Lock{store, config};
            }};
}

Mistake of_key(std::string shown, std::string const& key)
{
    return {"key", std::move(shown), [key](Store const& store) { Lock{store, {.key = key}}; }};
}

Mistake of_quarantine(std::chrono::milliseconds reuse_after)
{
    return {"reuse_after", std::to_string(reuse_after.count()) + " ms", [reuse_after](Store const& store) {
                SlotPool{store, {.size = 1, .reuse_after = reuse_after}};
            }};
}

Mistake of_size(std::uint32_t size)
{
    return {"size", std::to_string(size), [size](Store const& store) { SlotPool{store, {.size = size}}; }};
}

/** A store is opened with this config after a change. */
template <class Config, class Change>
Mistake after(Config config, std::string field, std::string value, Change change)
{
    return {std::move(field), std::move(value), [config = std::move(config), change](Store const& store) {
                auto changed = config;
                change(changed);
                static_cast<void>(open_store(store.get_executor(), changed));
            }};
}

template <class Change>
Mistake in_config(std::string field, std::string value, Change change)
{
    return after(RedisConfig(), std::move(field), std::move(value), change);
}

template <class Change>
Mistake in_redlock(std::string field, std::string value, Change change)
{
    RedlockConfig config;
    for (std::uint16_t port = 6379; port < 6382; ++port)
        config.servers.emplace_back().port = port;
    return after(std::move(config), std::move(field), std::move(value), [change](RedlockConfig& changed) {
        change(changed.servers.front());
    });
}

template <class Change>
Mistake in_sentinels(std::string field, std::string value, Change change)
{
    RedisSentinelConfig config;
    config.sentinels = {{.host = "host", .port = 26379}};
    config.master_name = "name";
    return after(std::move(config), std::move(field), std::move(value), change);
}

template <class Change>
Mistake in_etcd(std::string field, std::string value, Change change)
{
    EtcdConfig config;
    config.endpoints = {{.host = "host", .port = 2379}};
    return after(std::move(config), std::move(field), std::move(value), change);
}

/** Where the store itself sets limits. */
Mistake on_etcd(std::chrono::milliseconds ttl)
{
    return {"ttl", std::to_string(ttl.count()) + " ms", [ttl](Store const& store) {
                EtcdConfig config;
                config.endpoints = {{.host = "127.0.0.1", .port = 1}};
                StoreOptions options;
                options.log = silent_log_sink();
                Lock{open_store(store.get_executor(), config, options), {.key = "key", .ttl = ttl}};
            }};
}

Mistake in_note(std::string const& value, std::string const& note)
{
    return {"LockConfig::note", value, [note](Store const& store) { Lock{store, {.key = "key", .note = note}}; }};
}

Mistake in_pool_note(std::string const& value, std::string const& note)
{
    return {"SlotPoolConfig::note", value, [note](Store const& store) { SlotPool{store, {.size = 2, .note = note}}; }};
}

Mistake of_name(std::string const& name)
{
    return {"worker_name", "", [name](Store const& store) {
                static_cast<void>(
                    open_store(store.get_executor(), MemoryConfig{}, {.worker_name = name, .log = silent_log_sink()}));
            }};
}

std::vector<Mistake> mistakes()
{
    return {
        of_size(0),
        of_size((1U << 20U) + 1),
        of_size(std::numeric_limits<std::uint32_t>::max()),
        in_lock("ttl", "0 ms", [](LockConfig& config) { config.ttl = 0ms; }),
        in_lock("ttl", "-1 ms", [](LockConfig& config) { config.ttl = -1ms; }),
        in_lock("ttl", "99 ms", [](LockConfig& config) { config.ttl = 99ms; }),
        in_lock("ttl", "86400001 ms", [](LockConfig& config) { config.ttl = 24h + 1ms; }),
        in_lock(
            "ttl", "9223372036854775807 ms", [](LockConfig& config) { config.ttl = std::chrono::milliseconds::max(); }),
        in_lock("lease.notice", "-1 ms", [](LockConfig& config) { config.lease.notice = -1ms; }),
        in_lock("lease.notice", "1001 ms", [](LockConfig& config) { config.lease.notice = 1001ms; }),
        in_lock("lease.renew_interval", "-1 ms", [](LockConfig& config) { config.lease.renew_interval = -1ms; }),
        in_lock("lease.renew_interval", "2000 ms", [](LockConfig& config) { config.lease.renew_interval = 2s; }),
        in_lock("lease.max_hold", "-1 ms", [](LockConfig& config) { config.lease.max_hold = -1ms; }),
        of_quarantine(-1ms),
        of_quarantine(24h + 1ms),
        of_key("\"\"", ""),
        of_key("a?b", {"a\0b", 3}),
        of_key("a?b", "a\nb"),
        of_key("a?b", "a\rb"),
        of_key("xxx...", std::string(1025, 'x')),
        of_key("a{}b", "a{}b"),
        of_key("a{b}{c}", "a{b}{c}"),
        of_key("a}b{c", "a}b{c"),
        of_key("{a", "{a"),
        {"prefix", "\"\"", [](Store const& store) { SlotPool{store, {.prefix = "", .size = 2}}; }},
        in_note("129 bytes: at most 128", std::string(129, 'x')),
        in_note("the byte 10 at position 1", "a\nb"),
        in_pool_note("the byte 195 at position 0", "\xc3\xa9"),
        of_name("a b"),
        of_name("resting"),
        of_name("a/b"),
        of_name(std::string(129, 'x')),
        in_config("host", "", [](RedisConfig& config) { config.host = ""; }),
        in_config("host", "a,b", [](RedisConfig& config) { config.host = "a,b"; }),
        in_config("port", "0", [](RedisConfig& config) { config.port = 0; }),
        in_config("socket_path", "xxx", [](RedisConfig& config) { config.socket_path = std::string(108, 'x'); }),
        in_config("password", "", [](RedisConfig& config) { config.username = "worker"; }),
        in_config("tls.key_file", "", [](RedisConfig& config) { config.tls.certificate_file = "cert.pem"; }),
        in_config("tls.enabled", "false", [](RedisConfig& config) { config.tls.ca_file = "ca.pem"; }),
        in_config("connect_timeout", "99ms", [](RedisConfig& config) { config.connect_timeout = 99ms; }),
        in_config("reconnect_backoff", "9ms", [](RedisConfig& config) { config.reconnect_backoff = 9ms; }),
        in_config("replicas.acknowledged_by", "65", [](RedisConfig& config) { config.replicas.acknowledged_by = 65; }),
        in_config(
            "replicas.acknowledged_within", "0ms",
            [](RedisConfig& config) { config.replicas.acknowledged_within = 0ms; }),
        in_redlock("replicas.acknowledged_by", "1", [](RedisConfig& config) { config.replicas.acknowledged_by = 1; }),
        in_redlock("delay_after_failover", "true", [](RedisConfig& config) { config.delay_after_failover = true; }),
        in_redlock("lock_layout", "redisson", [](RedisConfig& config) { config.lock_layout = LockLayout::redisson; }),
        in_config(
            "delay_after_failover", "true",
            [](RedisConfig& config) {
                config.lock_layout = LockLayout::redisson;
                config.delay_after_failover = true;
            }),
        in_sentinels("sentinels", "0", [](RedisSentinelConfig& config) { config.sentinels.clear(); }),
        in_sentinels("[0].host", "", [](RedisSentinelConfig& config) { config.sentinels[0].host = ""; }),
        in_sentinels("[0].port", "0", [](RedisSentinelConfig& config) { config.sentinels[0].port = 0; }),
        in_sentinels("master_name", "", [](RedisSentinelConfig& config) { config.master_name = ""; }),
        in_sentinels("master_name", "a?b", [](RedisSentinelConfig& config) { config.master_name = "a b"; }),
        in_sentinels("::password", "", [](RedisSentinelConfig& config) { config.username = "worker"; }),
        in_sentinels(
            "sentinel_password", "", [](RedisSentinelConfig& config) { config.sentinel_username = "lookout"; }),
        in_sentinels("tls.key_file", "", [](RedisSentinelConfig& config) { config.tls.certificate_file = "c.pem"; }),
        in_sentinels(
            "sentinel_tls.certificate_file", "",
            [](RedisSentinelConfig& config) { config.sentinel_tls.key_file = "k.pem"; }),
        in_sentinels("connect_timeout", "99ms", [](RedisSentinelConfig& config) { config.connect_timeout = 99ms; }),
        in_sentinels(
            "replicas.acknowledged_within", "10001ms",
            [](RedisSentinelConfig& config) { config.replicas.acknowledged_within = 10001ms; }),
        in_etcd("endpoints", "0", [](EtcdConfig& config) { config.endpoints.clear(); }),
        in_etcd("[0].host", "", [](EtcdConfig& config) { config.endpoints[0].host = ""; }),
        in_etcd("[0].port", "0", [](EtcdConfig& config) { config.endpoints[0].port = 0; }),
        in_etcd("password", "", [](EtcdConfig& config) { config.username = "worker"; }),
        in_etcd("username", "", [](EtcdConfig& config) { config.password = "secret"; }),
        in_etcd("tls.key_file", "", [](EtcdConfig& config) { config.tls.certificate_file = "cert.pem"; }),
        in_etcd("connections", "0", [](EtcdConfig& config) { config.connections = 0; }),
        in_etcd("connections", "257", [](EtcdConfig& config) { config.connections = 257; }),
        in_etcd("connect_timeout", "99ms", [](EtcdConfig& config) { config.connect_timeout = 99ms; }),
        on_etcd(1999ms),
    };
}

} // namespace

TEST_CASE("options that cannot work are refused with field, value and rule, as documented")
{
    asio::io_context context;
    auto const store =
        open_store(context.get_executor(), MemoryConfig{}, {.worker_name = {}, .log = silent_log_sink()});
    for (auto const& mistake : mistakes()) {
        auto const words = refusal([&] { mistake.make(store); });
        INFO(words);
        CHECK_THAT(words, ContainsSubstring(mistake.field));
        CHECK_THAT(words, ContainsSubstring(mistake.value));
        CHECK(documented(words));
    }
    // the nearest that can work
    CHECK_NOTHROW(SlotPool{store, {.size = 1U << 20U}});
    CHECK_NOTHROW(SlotPool{store, {.size = 1, .reuse_after = 24h}});
    CHECK_NOTHROW(Lock{store, {.key = std::string(1024, 'x'), .ttl = 100ms}});
    CHECK_NOTHROW(Lock{store, {.key = "{a}b", .ttl = 24h, .lease = {.notice = 8h}}});
}

TEST_CASE("a URL that cannot work is refused with its part and the rule, as documented")
{
    asio::io_context context;
    auto const url = GENERATE(
        as<std::string>{}, "", "localhost:6379", "http://host", "redis://host:0", "redis://a,b", "redis://host/zero",
        "redis://host?colour=red", "redis://host?connect_timeout=5", "redis://user@host", "redis://host?tls_ca=x",
        "redis://host#1", "redis+unix://host/run/redis.sock", "redis+sentinel://host", "redis+sentinel:///name",
        "redis+sentinel://host/name?colour=red", "redis+sentinel://host/name?tls_ca=x",
        "redis+sentinel://host/name?sentinel_tls_ca=x",
        "redis+sentinel://host/name?sentinel_password=a&b=", "redis://host?db=1", "redis+unix:///socket?colour=red",
        "redlock://a,b,c?tls_ca=x", "redlock://a,b", "redlock://a,b,a", "redis+cluster://host/1",
        "redis+cluster://host?db=1", "redis+cluster://host?tls_ca=x", "redis+cluster://", "redis://host?replicas=all",
        "redis://host?replicas_within=50ms", "redis+cluster://host?replicas=1", "redlock://a,b,c?replicas=1",
        "redis://host?delay_after_failover=yes", "redis+sentinel://host/name?delay_after_failover=1",
        "redis+cluster://host?delay_after_failover=", "redlock://a,b,c?delay_after_failover=true",
        "redis://host?lock_layout=hash", "redlock://a,b,c?lock_layout=redisson", "etcd://", "etcd://host/prefix",
        "etcd://user@host", "etcd://host?tls_ca=x", "etcd://host?colour=red", "etcd://host?connections=many",
        "postgresql://host/db?colour=red", "postgresql:///db", "postgresql://host/db?listen=no:thing",
        "zookeeper://host?colour=red", "zookeeper:///app", "zookeeper://host/app/");
    CAPTURE(url);
    CHECK(documented(refusal([&] { static_cast<void>(open_store(context.get_executor(), url)); })));
}

TEST_CASE("operations that cannot work end with an error, and diagnostics say why, as documented")
{
    asio::io_context context;
    auto const store =
        open_store(context.get_executor(), MemoryConfig{}, {.worker_name = {}, .log = silent_log_sink()});
    Lock const lock{store, {.key = "stock", .ttl = 3s}};
    bool const renews = GENERATE(true, false);
    Lease lease;
    std::optional<error_code> error;
    lock.async_acquire([&](error_code, Lease granted) {
        lease = std::move(granted);
        if (renews)
            lease.async_renew(1ms, [&](error_code failure) { error = failure; });
        else
            store.async_evict(
                {.range = lock.range(), .owner = lease.owner()}, "the operator",
                [&](error_code failure, auto) { error = failure; });
        context.stop();
    });
    context.run();
    CHECK_FALSE(error);
    context.restart();
    while (!error && context.run_one() > 0) {
    }
    CHECK(error == make_error_code(std::errc::invalid_argument));
    auto const words = store.diagnostics().last_detail;
    INFO(words);
    CHECK_THAT(words, ContainsSubstring("stock is not "));
    CHECK(documented(words));
    CHECK(lease.valid());
}

TEST_CASE("pools of different size over one prefix share their slots")
{
    asio::io_context context;
    auto const store =
        open_store(context.get_executor(), MemoryConfig{}, {.worker_name = {}, .log = silent_log_sink()});
    SlotPool const small{store, {.size = 1, .ttl = 1s}};
    SlotPool const large{store, {.size = 3, .ttl = 1s}};
    std::vector<std::optional<Slot>> slots;
    std::vector<error_code> errors;
    auto const note = [&](error_code error, std::optional<Slot> slot) {
        errors.push_back(error);
        slots.push_back(std::move(slot));
    };
    for (auto const* pool : {&large, &small, &large, &large, &large}) {
        pool->async_try_acquire(note);
        context.restart();
        auto const before = errors.size();
        while (errors.size() == before && context.run_one() > 0) {
        }
    }
    REQUIRE(slots.size() == 5);
    CHECK(slots[0].value().id() == 0);
    CHECK_FALSE(slots[1]);
    CHECK(slots[2].value().id() == 1);
    CHECK(slots[3].value().id() == 2);
    CHECK_FALSE(slots[4]);
    for (auto const& error : errors)
        CHECK_FALSE(error);
}
