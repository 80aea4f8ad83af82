// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_under_attack.hpp"

#include "redis_look.hpp"
#include "stranger.hpp"

#include "harness/auditor.hpp"

#include <exception>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;

namespace
{

test::RedisServerOptions server_options(WallClock const& clock)
{
    test::RedisServerOptions options;
    options.config = {"appendonly yes", "appendfsync everysec", "auto-aof-rewrite-percentage 0"};
    options.environment = clock.environment();
    return options;
}

} // namespace

RedisUnderAttack::RedisUnderAttack(Arena const& arena)
    : arena_(arena)
    , clock_(directory_.file("wall-clock"))
    , server_(server_options(clock_))
    , network_(server_.port(), 3)
{
}

std::string RedisUnderAttack::url(std::size_t worker) const
{
    return "redis://127.0.0.1:" + std::to_string(network_.port(worker));
}

std::vector<Disturbance> RedisUnderAttack::disturbances()
{
    auto all = network_.disturbances();
    for (auto& more : {server_disturbances(), memory_disturbances(), command_disturbances()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::optional<std::vector<KeyLook>> RedisUnderAttack::look()
try {
    if (!looking_) {
        looking_.emplace(server_.port());
        looking_->reply_limit(5s);
    }
    auto const offset = clock_.offset();
    auto const ahead = clock_.ahead_of_boottime();
    auto const contents = read_keys(*looking_, arena_, all_cells(arena_));
    if (!contents || clock_.offset() != offset)
        return std::nullopt;
    std::vector<KeyLook> keys;
    for (auto const& content : *contents)
        keys.push_back(look_of(content, ahead));
    return keys;
} catch (std::exception const&) {
    // Killed, restarting, stopped: there is nothing to see.
    looking_.reset();
    return std::nullopt;
}

std::int64_t RedisUnderAttack::expiry_delay(std::int64_t now) const
{
    auto const left = jumped_back_ + std::chrono::nanoseconds{clock_jump}.count() - now;
    return jumped_back_ != 0 && left > 0 ? left : 0;
}

std::vector<std::string> RedisUnderAttack::endless_keys()
{
    auto client = server_.client();
    return endless_keys_of(client);
}

} // namespace tenure::faults
