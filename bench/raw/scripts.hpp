// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string_view>

namespace bench::raw
{

/// KEYS[1] the key, ARGV[1] the owner
inline constexpr std::string_view compare_and_delete = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0)";

/// the same, and ARGV[2] the channel on which waiters are told
inline constexpr std::string_view compare_delete_and_publish = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[2], '')
  return 1
end
return 0)";

/// KEYS the keys, ARGV[1] the owner of all, ARGV[2] the ttl
inline constexpr std::string_view compare_and_expire_all = R"(
local held = redis.call('MGET', unpack(KEYS))
local renewed = 0
for i = 1, #KEYS do
  if held[i] == ARGV[1] then renewed = renewed + redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
end
return renewed)";

} // namespace bench::raw
