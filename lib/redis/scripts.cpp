// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "scripts.hpp"

#include "marker_script.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace tenure::redis::scripts
{

namespace
{

// The next fencing token of a key: greater than the last one, and at least the server's time in microseconds, so that
// it goes on to rise where the fence key was lost. The fence key outlives its own value on the server's clock by a day.
// Numbers of Lua are doubles: exact up to 2^53, and `tostring` would round them, hence '%.0f' and GET.
//
// The fence key is not declared in KEYS, because the script chooses the key: declaring all of them would double the
// keys of a call (1,013 instead of 700 us for 1,024 keys). It is safe wherever the key itself is: its name hashes to
// the same slot, and servers check the access of a script to it (permissions too) when it happens.
constexpr std::string_view fence_text = R"(
local function fence_of(key)
  return ARGV[4] .. key .. ARGV[5]
end
local function next_token(key)
  local fence = fence_of(key)
  local token = redis.call('INCR', fence)
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if token <= now then
    token = string.format('%.0f', now)
    redis.call('SET', fence, token, 'PX', 86400000)
  else
    redis.call('PEXPIREAT', fence, string.format('%.0f', token / 1000 + 86400000))
    token = redis.call('GET', fence)
  end
  return token
end
)";

constexpr std::string_view find_own_text = R"(
for first = 1, #KEYS, 64 do
  local held = redis.call('MGET', unpack(KEYS, first, math.min(first + 63, #KEYS)))
  for i = 1, #held do
    if held[i] == ARGV[1] then
      local key = KEYS[first + i - 1]
      local token = ''
      if ARGV[4] then
        token = redis.call('GET', fence_of(key)) or next_token(key)
      end
      redis.call('PEXPIRE', key, ARGV[2])
      return {first + i - 2, token}
    end
  end
end
)";

// EXISTS counts without copying values; chunks of 64 measured best. The chunk with a gap is halved until the gap is
// found.
constexpr std::string_view first_free_text = R"(
for first = 1, #KEYS, 64 do
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
    local token = ''
    if ARGV[4] then
      token = next_token(KEYS[first])
    end
    redis.call('SET', KEYS[first], ARGV[1], 'PX', ARGV[2])
    return {first - 1, token}
  end
end
)";

// Asked for only now and then in large pools, because it asks for the ttl of each key. The type of a value does not
// matter: Redisson's locks are hashes, whose ttl ends as that of a string does.
constexpr std::string_view survey_text = R"(
local earliest, foreign = -1, 0
for i = 1, #KEYS do
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
return {-1, earliest, foreign}
)";

constexpr std::string_view unless_asked_text = R"(
if ARGV[3] == '' then
  return {-1}
end
)";

constexpr std::string_view look_text = R"(
if redis.call('MGET', KEYS[1])[1] == ARGV[1] then
  return 2
end
return redis.call('EXISTS', KEYS[1])
)";

constexpr std::string_view renew_text = R"(
local held = redis.call('MGET', unpack(KEYS))
local result = {}
for i = 1, #KEYS do
  if held[i] == ARGV[i + 1] and redis.call('PEXPIRE', KEYS[i], ARGV[1]) == 1 then
    result[i] = '1'
  else
    result[i] = '0'
  end
end
return table.concat(result)
)";

constexpr std::string_view inspect_text = R"(
local time = redis.call('TIME')
local result = {string.format('%.0f', time[1] * 1000000 + time[2])}
for first = 1, #KEYS, 64 do
  local held = redis.call('MGET', unpack(KEYS, first, math.min(first + 63, #KEYS)))
  for i = 1, #held do
    local key = KEYS[first + i - 1]
    local left = redis.call('PTTL', key)
    if left ~= -2 then
      local token = redis.pcall('GET', ARGV[1] .. key .. ARGV[2])
      result[#result + 1] = first + i - 2
      result[#result + 1] = held[i] and string.sub(held[i], 1, 1024)
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

// Whoever holds the key here proposes a token that several servers shall agree on. GET and the comparison come before
// the write; a fence key that holds something else fails the comparison, as INCR would.
constexpr std::string_view accept_token_text = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'not owner'
end
local fence = ARGV[3] .. KEYS[1] .. ARGV[4]
local last = redis.call('GET', fence)
if last and not tonumber(last) then
  return redis.error_reply('ERR value is not an integer or out of range')
end
if last and tonumber(last) >= tonumber(ARGV[2]) then
  return last
end
local time = redis.call('TIME')
local ahead_ms = math.max(tonumber(ARGV[2]) / 1000 - time[1] * 1000, 0)
redis.call('SET', fence, ARGV[2], 'PX', string.format('%.0f', ahead_ms + 86400000))
return 'accepted'
)";

std::string join(std::initializer_list<std::string_view> parts)
{
    std::string text;
    for (auto const part : parts)
        text += part;
    return text;
}

} // namespace

Script const& first_free()
{
    static Script const script(join({fence_text, first_free_text, unless_asked_text, survey_text}));
    return script;
}

Script const& first_free_after_failover()
{
    static Script const script(join(
        {marker_text, closed_after_failover_text, fence_text, unless_closed_text, first_free_text, unless_asked_text,
         survey_text}));
    return script;
}

Script const& find_own()
{
    static Script const script(join({fence_text, find_own_text, "return {-1}\n"}));
    return script;
}

Script const& own_or_first_free()
{
    static Script const script(join({fence_text, find_own_text, first_free_text, unless_asked_text, survey_text}));
    return script;
}

Script const& own_or_first_free_after_failover()
{
    static Script const script(join(
        {marker_text, closed_after_failover_text, fence_text, find_own_text, unless_closed_text, first_free_text,
         unless_asked_text, survey_text}));
    return script;
}

Script const& survey()
{
    static Script const script(join({survey_text}));
    return script;
}

Script const& look()
{
    static Script const script(join({look_text}));
    return script;
}

Script const& renew()
{
    static Script const script(join({renew_text}));
    return script;
}

Script const& renew_noting_ttl()
{
    static Script const script(join({marker_text, note_ttl_text, renew_text}));
    return script;
}

Script const& inspect()
{
    static Script const script(join({inspect_text}));
    return script;
}

Script const& evict()
{
    static Script const script(join({evict_text}));
    return script;
}

Script const& accept_token()
{
    static Script const script(join({accept_token_text}));
    return script;
}

} // namespace tenure::redis::scripts
