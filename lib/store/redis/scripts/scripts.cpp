// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Scripts that claim, renew, inspect, evict and detach.
#include "scripts.hpp"

#include "script_parts.hpp"

#include <runtime/immortal.hpp>

#include <string>
#include <string_view>

namespace tenure::redis::scripts
{

namespace
{

// The keys of a claiming script: the counter, the line, the marker, as far as the call needs them, and then the range,
// which begins behind KEYS[base].
constexpr std::string_view claim_keys_text = R"(
local line = ARGV[4] == '' and 1 or 2
local base = ARGV[5] == '' and line - 1 or line
)";
constexpr std::string_view claim_marker_text = R"(
base = base + 1
local marker = base
)";
constexpr std::string_view range_alone_text = R"(
local base = 0
)";

// Transactions call it by hash with the counter alone. If the server does not know the hash, a second call sends the
// text for the keys that were taken. One script serves both, so the server knows it from then on.
constexpr std::string_view draw_for_owned_text = R"(
for i = 2, #KEYS do
  if redis.call('MGET', KEYS[i])[1] ~= ARGV[i - 1] then
    return ''
  end
end
return draw()
)";

// A claim of the same owner gets a new token: a token drawn while the key is held lies between those of the previous
// and the next holder.
constexpr std::string_view find_own_text = R"(
for first = base + 1, #KEYS, 64 do
  local last = math.min(first + 63, #KEYS)
  local held = redis.call('MGET', unpack(KEYS, first, last))
  for i = 1, #held do
    if held[i] == ARGV[1] then
      local own = first + i - 1
      local token = ARGV[4] == '' and '' or draw()
      redis.call('PEXPIRE', KEYS[own], ARGV[2])
      if ARGV[5] ~= '' then
        leave_line(ARGV[5])
      end
      return {own - base - 1, token}
    end
  end
end
)";

// EXISTS counts without copying values; chunks of 64 were the fastest. The chunk with a gap is halved until the gap is
// found.
constexpr std::string_view first_free_text = R"(
for first = base + 1, #KEYS, 64 do
  local last = math.min(first + 63, #KEYS)
  if redis.call('EXISTS', unpack(KEYS, first, last)) <= last - first then
    while first < last do
      local middle = math.floor((first + last) / 2)
      if redis.call('EXISTS', unpack(KEYS, first, middle)) <= middle - first then
        last = middle
      else
        first = middle + 1
      end
    end
    local token = ARGV[4] == '' and '' or draw()
    redis.call('SET', KEYS[first], ARGV[1], 'PX', ARGV[2])
    if ARGV[5] ~= '' then
      leave_line(ARGV[5])
    end
    return {first - base - 1, token}
  end
end
local result = {}
)";

// For several owners: ARGV[1] and the values after ARGV[6]. Each chunk is halved until its parts are completely held or
// free; the second half needs no EXISTS.
constexpr std::string_view first_free_each_text = R"(
local wanted = #ARGV - 5
local free = {}
local function collect(first, last, held)
  if held == last - first + 1 or #free == wanted then
    return
  end
  if held == 0 then
    for i = first, math.min(last, first + wanted - #free - 1) do
      free[#free + 1] = i
    end
    return
  end
  local middle = math.floor((first + last) / 2)
  local held_before = redis.call('EXISTS', unpack(KEYS, first, middle))
  collect(first, middle, held_before)
  collect(middle + 1, last, held - held_before)
end
for first = base + 1, #KEYS, 64 do
  if #free == wanted then
    break
  end
  local last = math.min(first + 63, #KEYS)
  collect(first, last, redis.call('EXISTS', unpack(KEYS, first, last)))
end
local result = {''}
if #free > 0 then
  result[1] = ARGV[4] == '' and '' or draw()
  for i = 1, #free do
    local key, owner = free[i], i == 1 and ARGV[1] or ARGV[i + 5]
    redis.call('SET', KEYS[key], owner, 'PX', ARGV[2])
    result[i + 1] = key - base - 1
  end
end
if #free == wanted then
  if ARGV[5] ~= '' then
    leave_line(ARGV[5])
  end
  return result
end
)";

// Large pools run it rarely, because it reads the ttl of each key. The type of a value is irrelevant: Redisson's locks
// are hashes, and their ttl works alike.
constexpr std::string_view survey_text = R"(
local earliest, foreign = -1, 0
for i = base + 1, #KEYS do
  local left = redis.call('PTTL', KEYS[i])
  if left == -2 then
    left = 0
  elseif left == -1 then
    foreign = foreign + 1
  end
  if left >= 0 and (earliest < 0 or left < earliest) then
    earliest = left
  end
end
)";

// All keys are held: builds the answer and updates the place in the line.
constexpr std::string_view begin_held_text = R"(
result[#result + 1] = -1
if ARGV[3] ~= '' then
)";
constexpr std::string_view end_held_text = R"(
  result[#result + 1] = earliest
  result[#result + 1] = foreign
end
if ARGV[5] ~= '' then
  local problem = join_line(ARGV[5], ARGV[6])
  if problem ~= '' then
    result[#result + 1] = problem
  end
end
return result
)";

constexpr std::string_view probe_text = R"(
if redis.call('MGET', KEYS[1])[1] == ARGV[1] then
  return 2
end
return redis.call('EXISTS', KEYS[1])
)";

constexpr std::string_view renew_text = R"(
local held = redis.call('MGET', unpack(KEYS, base + 1, #KEYS))
local result = {}
for i = 1, #held do
  local key = base + i
  if held[i] == ARGV[i + 1] and redis.call('PEXPIRE', KEYS[key], ARGV[1]) == 1 then
    result[i] = '1'
  else
    result[i] = '0'
  end
end
return table.concat(result)
)";

// A key that is held in places (shares/) is a hash; HGET by pcall, because other hashes belong to other programs. A
// reply has at most 1,024 places.
constexpr std::string_view inspect_text = R"(
local time = redis.call('TIME')
local result = {string.format('%.0f', time[1] * 1000000 + time[2])}
local now, room = time[1] * 1000 + math.floor(time[2] / 1000), 1024
local function places_of(key)
  if redis.pcall('HGET', KEYS[key], 'mode') ~= 'line' then
    return false
  end
  local fields, places = redis.call('HGETALL', KEYS[key]), {}
  for i = 1, #fields, 2 do
    local number, ends, weight, capacity, position =
      string.match(fields[i + 1], '^(%d+) (%d+) %d+ (%d+) (%d+) %S* (%d+)$')
    local left = number and ends - now or 0
    if left > 0 and room > 0 then
      room = room - 1
      places[#places + 1] = string.sub(fields[i], 1, 512)
      places[#places + 1] = string.format('%s %.0f %s %s %s', number, left, weight, capacity, position)
    end
  end
  return places
end
local count = ARGV[1] and #KEYS / 2 or #KEYS
for first = 1, count, 64 do
  local last = math.min(first + 63, count)
  local held = redis.call('MGET', unpack(KEYS, first, last))
  for i = 1, #held do
    local key = first + i - 1
    local left = redis.call('PTTL', KEYS[key])
    if left ~= -2 then
      local fence = count + key
      local token = ARGV[1] and redis.pcall('GET', KEYS[fence])
      result[#result + 1] = key - 1
      result[#result + 1] = held[i] and string.sub(held[i], 1, 1024) or left ~= -1 and places_of(key)
      result[#result + 1] = left
      result[#result + 1] = type(token) == 'string' and string.sub(token, 1, 32)
    end
  end
end
return result
)";

constexpr std::string_view evict_text = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return -2
end
local left = redis.call('PTTL', KEYS[1])
if left >= 0 then
  redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
end
return left
)";

// A repeated call finds the result of an earlier one and does not restart the time. GET by pcall, because a key of
// another type belongs to another program.
constexpr std::string_view detach_text = R"(
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[2] then
  return 'kept'
end
if held ~= ARGV[1] then
  if type(held) == 'table' and string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
  end
  return 'not owner'
end
if ARGV[3] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
else
  redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
end
return 'kept'
)";

// The holder of the key proposes a token that a majority shall agree on. GET and the comparison come before the write;
// the comparison fails if the fence key has a foreign value, as INCR would.
constexpr std::string_view accept_token_text = R"(
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 'not owner'
end
local last = redis.call('GET', KEYS[1])
if last and not tonumber(last) then
  return redis.error_reply('ERR value is not an integer or out of range')
end
if last and tonumber(last) >= tonumber(ARGV[2]) then
  return last
end
local time = redis.call('TIME')
local ahead_ms = math.max(tonumber(ARGV[2]) / 1000 - time[1] * 1000, 0)
redis.call('SET', KEYS[1], ARGV[2], 'PX', string.format('%.0f', ahead_ms + 86400000))
return 'accepted'
)";

// The functions that claiming scripts call, and their common end.
std::string_view claim_parts()
{
    static Immortal<std::string> const text(join({claim_keys_text, draw_text, leave_line_text}));
    return *text;
}
std::string_view held_text()
{
    static Immortal<std::string> const text(join({join_line_text, begin_held_text, survey_text, end_held_text}));
    return *text;
}

} // namespace

Script const& draw()
{
    static Immortal<Script> const script(join({draw_text, draw_for_owned_text}));
    return *script;
}

Script const& first_free()
{
    static Immortal<Script> const script(join({claim_parts(), first_free_text, held_text()}));
    return *script;
}

Script const& first_free_each()
{
    static Immortal<Script> const script(join({claim_parts(), first_free_each_text, held_text()}));
    return *script;
}

Script const& first_free_after_failover()
{
    static Immortal<Script> const script(join(
        {claim_parts(), claim_marker_text, marker_text, closed_after_failover_text, unless_closed_text, first_free_text,
         held_text()}));
    return *script;
}

Script const& first_free_each_after_failover()
{
    static Immortal<Script> const script(join(
        {claim_parts(), claim_marker_text, marker_text, closed_after_failover_text, unless_closed_text,
         first_free_each_text, held_text()}));
    return *script;
}

Script const& find_own()
{
    static Immortal<Script> const script(join({claim_parts(), find_own_text, "return {-1}\n"}));
    return *script;
}

Script const& own_or_first_free()
{
    static Immortal<Script> const script(join({claim_parts(), find_own_text, first_free_text, held_text()}));
    return *script;
}

Script const& own_or_first_free_after_failover()
{
    static Immortal<Script> const script(join(
        {claim_parts(), claim_marker_text, marker_text, closed_after_failover_text, find_own_text, unless_closed_text,
         first_free_text, held_text()}));
    return *script;
}

Script const& survey()
{
    static Immortal<Script> const script(join({range_alone_text, survey_text, "return {-1, earliest, foreign}\n"}));
    return *script;
}

Script const& probe()
{
    static Immortal<Script> const script(join({probe_text}));
    return *script;
}

Script const& renew()
{
    static Immortal<Script> const script(join({range_alone_text, renew_text}));
    return *script;
}

Script const& renew_noting_ttl()
{
    static Immortal<Script> const script(join({"local base, marker = 1, 1\n", marker_text, note_ttl_text, renew_text}));
    return *script;
}

Script const& inspect()
{
    static Immortal<Script> const script(join({inspect_text}));
    return *script;
}

Script const& evict()
{
    static Immortal<Script> const script(join({evict_text}));
    return *script;
}

Script const& detach()
{
    static Immortal<Script> const script(join({detach_text}));
    return *script;
}

Script const& accept_token()
{
    static Immortal<Script> const script(join({accept_token_text}));
    return *script;
}

} // namespace tenure::redis::scripts
