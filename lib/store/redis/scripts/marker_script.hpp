// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What scripts do with the marker of `delay_after_failover`: parts, of which scripts.cpp makes whole ones.
#pragma once

#include <string_view>

namespace tenure::redis::scripts
{

// Closes claims for a while after a failover, on request. The marker holds the run id of the server process that
// granted last, the longest ttl in use, and until when claims are closed: ms of this server's clock. A process that
// finds another's run id there, or no marker, may not know of leases that are still valid: none lasts longer than the
// longest ttl, counted from now. Where the marker was lost too, the ttls that are asked for are all that is known of
// it, so that each longer one that is asked for meanwhile prolongs the closure. A ttl is noted before the first lease
// that has it.
//
// The last two arguments are the marker's name and the run id, which each connection fills in for itself.
inline constexpr std::string_view marker_text = R"(
local function read_marker(marker)
  local noted = redis.call('GET', marker)
  if not noted then
    return '-', 0, 0
  end
  local process, longest, opens = string.match(noted, '^([%w-]+) (%d+) (%d+)$')
  return process, tonumber(longest), tonumber(opens)
end
local function write_marker(marker, process, longest, opens)
  redis.call('SET', marker, string.format('%s %.0f %.0f', process, longest, opens))
end
local function not_a_marker(marker)
  return redis.error_reply('ERR ' .. marker .. ' holds something else than the marker of delay_after_failover')
end
)";

inline constexpr std::string_view closed_after_failover_text = R"(
local run_id = table.remove(ARGV)
local marker = table.remove(ARGV)
local function closed_for()
  local ttl = tonumber(ARGV[2])
  local process, longest, opens = read_marker(marker)
  if not process then
    return not_a_marker(marker)
  end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local is_longer = ttl > longest
  if process ~= run_id then
    longest = math.max(longest, ttl)
    opens = now + longest
    write_marker(marker, run_id, longest, opens)
  elseif is_longer or opens - now > longest then
    -- the latter where the clock was set back
    if opens > now then
      opens = is_longer and opens + ttl - longest or now + longest
    end
    longest = math.max(longest, ttl)
    write_marker(marker, run_id, longest, opens)
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

// A renewal closes nothing: its key is there, so this server knows of the lease. The next one to take over may not.
inline constexpr std::string_view note_ttl_text = R"(
local marker = table.remove(ARGV)
local process, longest, opens = read_marker(marker)
if not process then
  return not_a_marker(marker)
end
if tonumber(ARGV[1]) > longest then
  write_marker(marker, process, tonumber(ARGV[1]), opens)
end
)";

} // namespace tenure::redis::scripts
