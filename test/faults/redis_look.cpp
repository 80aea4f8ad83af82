// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_look.hpp"

#include "redis_stranger.hpp"

namespace tenure::faults
{

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

} // namespace

std::optional<std::vector<KeyLook>> look_at(test::RedisClient& client, Arena const& arena, std::int64_t ahead)
{
    std::vector<std::string> command{"EVAL", look_script, std::to_string(2 * arena.cells())};
    for (std::uint32_t cell = 0; cell < arena.cells(); ++cell) {
        command.push_back(arena.key(cell));
        command.push_back("{" + arena.key(cell) + "}:fence");
    }
    auto const reply = client.send(command);
    if (reply.is_error() || reply.elements.size() != 3 * arena.cells())
        return std::nullopt;
    std::vector<KeyLook> keys(arena.cells());
    for (std::uint32_t cell = 0; cell < arena.cells(); ++cell) {
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
}

std::vector<std::string> endless_keys_of(test::RedisClient& client)
{
    std::vector<std::string> endless;
    for (auto const& key : client.keys("*"))
        if (client.pttl(key) == -1)
            endless.push_back(key);
    return endless;
}

} // namespace tenure::faults
