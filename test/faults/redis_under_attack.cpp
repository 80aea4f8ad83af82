// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_under_attack.hpp"

#include "redis_stranger.hpp"

#include "harness/auditor.hpp"

#include <exception>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;

namespace
{

/// for each key: value, instant of expiry, last fencing token
constexpr char const* look_script = R"(
local result = {}
for i = 1, #KEYS, 2 do
  result[#result + 1] = redis.call('GET', KEYS[i])
  result[#result + 1] = redis.call('PEXPIRETIME', KEYS[i])
  result[#result + 1] = redis.call('GET', KEYS[i + 1])
end
return result
)";

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
    std::vector<std::string> command{"EVAL", look_script, std::to_string(2 * arena_.cells())};
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell) {
        command.push_back(arena_.key(cell));
        command.push_back("{" + arena_.key(cell) + "}:fence");
    }
    auto const offset = clock_.offset();
    auto const ahead = clock_.ahead_of_boottime();
    auto const reply = looking_->send(command);
    if (reply.is_error() || reply.elements.size() != 3 * arena_.cells() || clock_.offset() != offset)
        return std::nullopt;
    std::vector<KeyLook> keys(arena_.cells());
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell) {
        auto const& value = reply.elements[3 * cell];
        auto const expiry = reply.elements[3 * cell + 1].integer;
        auto const& fence = reply.elements[3 * cell + 2];
        auto& key = keys[cell];
        key.held = !value.is_null();
        key.foreign = value.text == stranger;
        key.endless = key.held && expiry == -1;
        // The server counts in milliseconds and frees a key in the one after.
        key.expiry = expiry * 1'000'000 - ahead;
        key.fencing_token = fence.is_null() ? 0 : std::stoull(fence.text);
    }
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
    std::vector<std::string> endless;
    for (auto const& key : client.keys("*"))
        if (client.pttl(key) == -1)
            endless.push_back(key);
    return endless;
}

} // namespace tenure::faults
