// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What scripts do with the line of waiters: parts, of which scripts.cpp makes whole ones.
#pragma once

#include <string_view>

namespace tenure::redis::scripts
{

// The line of a lock or pool is a list of names, one for each store that waits. It is a hint about the order and
// nothing else, so no error of these commands may fail a claim: each is called by pcall. LPOS needs Redis 6.0.6.
//
// `join_line` answers '' or the error of the server. `in_front` is '1' for a waiter that a release had named before.
inline constexpr std::string_view join_line_text = R"(
local function join_line(line, name, in_front)
  local place = redis.pcall('LPOS', line, name)
  if type(place) == 'table' and place.err then
    place = nil
    local names = redis.pcall('LRANGE', line, 0, -1)
    if names.err then
      return names.err
    end
    for i = 1, #names do
      if names[i] == name then
        place = i
      end
    end
  end
  if not place then
    local length = redis.pcall('LLEN', line)
    if type(length) == 'table' then
      return length.err
    end
    if length < 1024 then
      local reply = redis.pcall(in_front == '1' and 'LPUSH' or 'RPUSH', line, name)
      if type(reply) == 'table' then
        return reply.err
      end
    end
  end
  local reply = redis.pcall('PEXPIRE', line, 60000)
  return type(reply) == 'table' and reply.err or ''
end
)";

// A claim that was granted although its store stands in line: the place goes with it.
inline constexpr std::string_view leave_line_text = R"(
local function leave_line(line, name)
  redis.pcall('LREM', line, 0, name)
end
)";

} // namespace tenure::redis::scripts
