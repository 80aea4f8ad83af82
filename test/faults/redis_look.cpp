// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_look.hpp"

#include "stranger.hpp"

#include "harness/auditor.hpp"
#include "harness/owner_mark.hpp"

#include <time.h>

#include <cstddef>
#include <numeric>
#include <string_view>

namespace tenure::faults
{

namespace
{

/// ARGV: how many of KEYS are leases' keys; behind them come their fences, or none. For each key value and instant of
/// expiry, then the fences' values
constexpr char const* look_script = R"(
local result = {}
local keys = tonumber(ARGV[1])
for i = 1, #KEYS do
  result[#result + 1] = redis.call('GET', KEYS[i])
  if i <= keys then
    result[#result + 1] = redis.call('PEXPIRETIME', KEYS[i])
  end
end
return result
)";

/** `name`, or in a cluster `name:{N}` with a decimal number N. */
bool is_or_numbers(std::string_view name, std::string_view key)
{
    if (key == name)
        return true;
    auto const begin = std::string{name} + ":{";
    if (!key.starts_with(begin) || !key.ends_with('}'))
        return false;
    auto const number = key.substr(begin.size(), key.size() - begin.size() - 1);
    return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

} // namespace

std::vector<std::uint32_t> all_cells(Arena const& arena)
{
    std::vector<std::uint32_t> cells(arena.cells());
    std::iota(cells.begin(), cells.end(), 0);
    return cells;
}

std::optional<std::vector<KeyContent>>
read_keys(test::RedisClient& client, Arena const& arena, std::vector<std::uint32_t> const& cells, Fences fences)
{
    auto const count = cells.size();
    std::size_t const per_key = fences == Fences::of_each_key ? 2 : 1;
    std::vector<std::string> command{"EVAL", look_script, std::to_string(per_key * count)};
    for (auto const cell : cells)
        command.push_back(arena.key(cell));
    if (fences == Fences::of_each_key)
        for (auto const cell : cells)
            command.push_back("{" + arena.key(cell) + "}:fence");
    command.push_back(std::to_string(count));
    auto const reply = client.send(command);
    if (reply.is_error() || reply.elements.size() != (per_key + 1) * count)
        return std::nullopt;
    std::vector<KeyContent> contents(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto const* const told = &reply.elements[2 * i];
        if (!told[0].is_null())
            contents[i].value = told[0].text;
        contents[i].expires_at = told[1].integer;
        if (fences == Fences::of_each_key)
            if (auto const& fence = reply.elements[2 * count + i]; !fence.is_null())
                contents[i].fencing_token = std::stoull(fence.text);
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
    key.mark = test::owner_mark(content.value.value_or(""));
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
        if (!is_or_numbers("tenure:fence", key) && !is_or_numbers("tenure:master", key) && client.pttl(key) == -1)
            endless.push_back(key);
    return endless;
}

} // namespace tenure::faults
