// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Scripts for keys that Redisson's locks share.
#include "redisson.hpp"

#include "script_parts.hpp"

#include <runtime/immortal.hpp>

#include <string>
#include <string_view>

namespace tenure::redis::redisson
{

namespace
{

using scripts::join;

// Redisson knows no other rule than "the key exists, and I have a field of it": the scripts below read the field of the
// owner by pcall, because a key of another type belongs to another program, and then counts as held.
//
// `own` is true if the owner has the key; `failed` is an error of the server, such as a missing permission.
constexpr std::string_view own_text = R"(
local failed
local function own(key, owner)
  local held = redis.pcall('HGET', KEYS[key], owner)
  if type(held) == 'table' and string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    failed = held
  end
  return type(held) == 'string'
end
)";

// INCR can fail, so it comes before the writes to the lock's key.
constexpr std::string_view claim_text = R"(
local key = #KEYS
local is_own = own(key, ARGV[1])
if failed then
  return failed
end
if not is_own and redis.call('EXISTS', KEYS[key]) == 1 then
  local left = redis.call('PTTL', KEYS[key])
  return {-1, left, left == -1 and 1 or 0}
end
local token = ''
if ARGV[4] ~= '' then
  token = string.format('%.0f', redis.call('INCR', KEYS[1]))
end
redis.call('HSET', KEYS[key], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[key], ARGV[2])
return {0, token}
)";

constexpr std::string_view renew_text = R"(
local result = {}
for i = 1, #KEYS do
  if own(i, ARGV[i + 1]) and redis.call('PEXPIRE', KEYS[i], ARGV[1]) == 1 then
    result[i] = '1'
  else
    result[i] = '0'
  end
end
return failed or table.concat(result)
)";

// A field is replaced by writing the new one first, because the key and its ttl would go with the last field.
constexpr std::string_view leave_text = R"(
local is_own = own(1, ARGV[1])
if failed then
  return failed
end
if not is_own then
  return '0'
end
if ARGV[4] then
  redis.call('HSET', KEYS[1], ARGV[3], 1)
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return '1'
end
redis.call('DEL', KEYS[1])
if ARGV[2] == '' then
  return '1'
end
local note = ''
if ARGV[2] ~= '-' then
  local reply = redis.pcall('PUBLISH', ARGV[2], '0')
  if type(reply) == 'table' and reply.err then
    note = '\n!' .. string.sub(reply.err, 1, 200)
  end
end
return {'1' .. note, '0'}
)";

constexpr std::string_view detach_text = R"(
local is_kept, is_own = own(1, ARGV[2]), own(1, ARGV[1])
if failed then
  return failed
end
if is_kept or not is_own then
  return is_kept and 'kept' or 'not owner'
end
redis.call('HSET', KEYS[1], ARGV[2], 1)
redis.call('HDEL', KEYS[1], ARGV[1])
if ARGV[3] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 'kept'
)";

constexpr std::string_view evict_text = R"(
local is_own = own(1, ARGV[1])
if failed then
  return failed
end
if not is_own then
  return -2
end
local left = redis.call('PTTL', KEYS[1])
if left >= 0 then
  redis.call('HSET', KEYS[1], ARGV[2], 1)
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return left
)";

// A hash with several fields is no lock of one holder: Redisson's RReadWriteLock, for example.
constexpr std::string_view inspect_text = R"(
local time = redis.call('TIME')
local result = {string.format('%.0f', time[1] * 1000000 + time[2])}
local left = redis.call('PTTL', KEYS[2])
if left ~= -2 then
  local held = redis.pcall('GET', KEYS[2])
  if type(held) ~= 'string' then
    held = redis.pcall('HLEN', KEYS[2]) == 1 and redis.call('HGETALL', KEYS[2])[1]
  end
  local token = redis.pcall('GET', KEYS[1])
  result[2], result[3], result[4], result[5] = 0, held and string.sub(held, 1, 1024), left, type(token) == 'string' and token
end
return result
)";

} // namespace

Script const& claim()
{
    static Immortal<Script> const script(join({own_text, claim_text}));
    return *script;
}

Script const& renew()
{
    static Immortal<Script> const script(join({own_text, renew_text}));
    return *script;
}

PublishingScript const& leave()
{
    static Immortal<PublishingScript> const script(join({own_text, leave_text}));
    return *script;
}

Script const& detach()
{
    static Immortal<Script> const script(join({own_text, detach_text}));
    return *script;
}

Script const& evict()
{
    static Immortal<Script> const script(join({own_text, evict_text}));
    return *script;
}

Script const& inspect()
{
    static Immortal<Script> const script(join({inspect_text}));
    return *script;
}

} // namespace tenure::redis::redisson
