// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string_view>

namespace bench::raw
{

/// KEYS[1] the key, ARGV[1] the owner
inline constexpr std::string_view compare_and_delete = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0)";

/// KEYS the keys, ARGV[1] the owner of all: how many of them were deleted
inline constexpr std::string_view compare_and_delete_all = R"(
local held = redis.call('MGET', unpack(KEYS))
local own = {}
for i = 1, #KEYS do
  if held[i] == ARGV[1] then own[#own + 1] = KEYS[i] end
end
if #own == 0 then return 0 end
return redis.call('DEL', unpack(own)))";

/// as compare_and_delete, and ARGV[2] the channel on which waiters are told
inline constexpr std::string_view compare_delete_and_publish = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[2], '')
  return 1
end
return 0)";

/// KEYS[1] the key, KEYS[2] its fence, ARGV[1] the owner, ARGV[2] the ttl: a token greater than all before, 0 if it is
/// held
inline constexpr std::string_view claim_with_token = R"(
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local time = redis.call('TIME')
local token = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or 0)
if last >= token then token = last + 1 end
redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', ARGV[2])
return token)";

/// KEYS the keys, ARGV[1] the owner of all, ARGV[2] the ttl
inline constexpr std::string_view compare_and_expire_all = R"(
local held = redis.call('MGET', unpack(KEYS))
local renewed = 0
for i = 1, #KEYS do
  if held[i] == ARGV[1] then renewed = renewed + redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
end
return renewed)";

} // namespace bench::raw
