// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What scripts do with the counter of fencing tokens: a part, of which scripts.cpp makes whole ones.
#pragma once

#include <string_view>

namespace tenure::redis::scripts
{

// The next token: greater than each one before, and at least the server's time in microseconds, so that tokens go on to
// rise where the counter was lost. INCR comes first because it can fail, and must do so before a lock's key is written.
// Numbers of Lua are doubles: exact up to 2^53, and `tostring` would round them, hence '%.0f' and GET.
inline constexpr std::string_view draw_text = R"(
local function draw(fence)
  local token = redis.call('INCR', fence)
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if token <= now then
    token = string.format('%.0f', now)
    redis.call('SET', fence, token)
    return token
  end
  return redis.call('GET', fence)
end
)";

} // namespace tenure::redis::scripts
