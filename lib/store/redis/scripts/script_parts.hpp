// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parts of the scripts in scripts.cpp, release_scripts.cpp and ../shares: the counter of fencing tokens, the line of
// waiters, and the marker of `delay_after_failover`.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tenure::redis::scripts
{

[[nodiscard]] inline std::string join(std::initializer_list<std::string_view> parts)
{
    std::string text;
    for (auto const part : parts)
        text += part;
    return text;
}

// Draws the next token: greater than each earlier one, and at least the server's time in microseconds, so that tokens
// keep rising after a loss of the counter. INCR can fail, so it must come before the write to a lock's key. Lua numbers
// are doubles: exact up to 2^53, but `tostring` would round them, hence '%.0f' and GET. The counter is the first key of
// every script that draws.
inline constexpr std::string_view draw_text = R"(
local function draw()
  local token = redis.call('INCR', KEYS[1])
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if token <= now then
    token = string.format('%.0f', now)
    redis.call('SET', KEYS[1], token)
    return token
  end
  return redis.call('GET', KEYS[1])
end
)";

// The line of a range is a list with the names of the waiting stores. It only hints at the order, so its errors must
// not fail a claim: each command is called by pcall. LPOS needs Redis 6.0.6.
//
// A line has at most `longest_line` names. `join_line` answers '' or the error of the server. `in_front` is '1' for a
// waiter that an earlier release had named. The position of the line in KEYS is `line`.
inline constexpr std::size_t longest_line = 1024;
inline constexpr std::string_view join_line_text = R"(
local function join_line(name, in_front)
  local place = redis.pcall('LPOS', KEYS[line], name)
  if type(place) == 'table' and place.err then
    place = nil
    local names = redis.pcall('LRANGE', KEYS[line], 0, -1)
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
    local length = redis.pcall('LLEN', KEYS[line])
    if type(length) == 'table' then
      return length.err
    end
    if length < 1024 then
      local reply
      if in_front == '1' then
        reply = redis.pcall('LPUSH', KEYS[line], name)
      else
        reply = redis.pcall('RPUSH', KEYS[line], name)
      end
      if type(reply) == 'table' then
        return reply.err
      end
    end
  end
  local reply = redis.pcall('PEXPIRE', KEYS[line], 60000)
  return type(reply) == 'table' and reply.err or ''
end
)";

// Removes a store from the line with its grant.
inline constexpr std::string_view leave_line_text = R"(
local function leave_line(name)
  redis.pcall('LREM', KEYS[line], 0, name)
end
)";

// Closes claims for a while after a failover, if configured. The marker holds the run id of the server process that
// granted last, the longest ttl in use, and until when claims are closed (ms of this server's clock). A process that
// finds another run id, or no marker, may not know all valid leases; each of them ends within the longest ttl from now.
// If the marker was lost too, only the requested ttls are known, so each longer request prolongs the closure. A ttl is
// written before the first lease that uses it.
//
// The position of the marker in KEYS is `marker`. The last argument of claims is the run id, which each connection
// fills in.
inline constexpr std::string_view marker_text = R"(
local function read_marker()
  local noted = redis.call('GET', KEYS[marker])
  if not noted then
    return '-', 0, 0
  end
  local process, longest, opens = string.match(noted, '^([%w-]+) (%d+) (%d+)$')
  return process, tonumber(longest), tonumber(opens)
end
local function write_marker(process, longest, opens)
  redis.call('SET', KEYS[marker], string.format('%s %.0f %.0f', process, longest, opens))
end
local function not_a_marker()
  return redis.error_reply('ERR ' .. KEYS[marker] .. ' holds something else than the marker of delay_after_failover')
end
)";

inline constexpr std::string_view closed_after_failover_text = R"(
local run_id = table.remove(ARGV)
local function closed_for()
  local ttl = tonumber(ARGV[2])
  local process, longest, opens = read_marker()
  if not process then
    return not_a_marker()
  end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local is_longer = ttl > longest
  if process ~= run_id then
    longest = math.max(longest, ttl)
    opens = now + longest
    write_marker(run_id, longest, opens)
  elseif is_longer or opens - now > longest then
    -- the latter where the clock was set back
    if opens > now then
      opens = is_longer and opens + ttl - longest or now + longest
    end
    longest = math.max(longest, ttl)
    write_marker(run_id, longest, opens)
  end
  return opens > now and {-2, opens - now}
end
)";
inline constexpr std::string_view unless_closed_text = R"(
local closed = closed_for()
if closed then
  return closed
end
)";

// A renewal closes nothing: its key exists, so this server knows the lease. The server of the next failover may not.
inline constexpr std::string_view note_ttl_text = R"(
local process, longest, opens = read_marker()
if not process then
  return not_a_marker()
end
if tonumber(ARGV[1]) > longest then
  write_marker(process, tonumber(ARGV[1]), opens)
end
)";

} // namespace tenure::redis::scripts
