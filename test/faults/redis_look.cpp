// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_look.hpp"

#include "stranger.hpp"

#include "harness/auditor.hpp"

#include <time.h>

#include <cstddef>
#include <numeric>

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

std::vector<std::uint32_t> all_cells(Arena const& arena)
{
    std::vector<std::uint32_t> cells(arena.cells());
    std::iota(cells.begin(), cells.end(), 0);
    return cells;
}

std::optional<std::vector<KeyContent>>
read_keys(test::RedisClient& client, Arena const& arena, std::vector<std::uint32_t> const& cells)
{
    std::vector<std::string> command{"EVAL", look_script, std::to_string(2 * cells.size())};
    for (auto const cell : cells) {
        command.push_back(arena.key(cell));
        command.push_back("{" + arena.key(cell) + "}:fence");
    }
    auto const reply = client.send(command);
    if (reply.is_error() || reply.elements.size() != 3 * cells.size())
        return std::nullopt;
    std::vector<KeyContent> contents(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        auto const* const told = &reply.elements[3 * i];
        if (!told[0].is_null())
            contents[i].value = told[0].text;
        contents[i].expires_at = told[1].integer;
        contents[i].fencing_token = told[2].is_null() ? 0 : std::stoull(told[2].text);
    }
    return contents;
}

KeyLook look_of(KeyContent const& content, std::int64_t ahead)
{
    KeyLook key;
    key.held = content.value.has_value();
    key.foreign = content.value == stranger;
    key.endless = key.held && content.expires_at == -1;
    // The server counts in milliseconds and frees a key in the one after.
    key.expiry = content.expires_at * 1'000'000 - ahead;
    key.fencing_token = content.fencing_token;
    return key;
}

std::int64_t wall_clock_ahead()
{
    auto const before = test::boottime_ns();
    timespec wall{};
    ::clock_gettime(CLOCK_REALTIME, &wall);
    return std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec - (before + test::boottime_ns()) / 2;
}

std::vector<std::string> endless_keys_of(test::RedisClient& client)
{
    std::vector<std::string> endless;
    for (auto const& key : client.keys("*"))
        // the counter of fencing tokens stays
        if (key != "tenure:fence" && client.pttl(key) == -1)
            endless.push_back(key);
    return endless;
}

} // namespace tenure::faults
