// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Scripts for keys that are held in places.
#include "scripts.hpp"

#include "script_parts.hpp"
#include "store/redis/scripts/script_parts.hpp"

#include <runtime/immortal.hpp>

#include <string>
#include <string_view>

namespace tenure::redis::place_scripts
{

namespace
{

using scripts::join;

constexpr std::string_view never_closed_text = R"(
local closed = false
)";

// As `closed_after_failover_text`, for scripts that grant nothing new: they do not write the marker.
constexpr std::string_view closed_now_text = R"(
local run_id = table.remove(ARGV)
local process, longest_noted, opens = read_marker()
local closed = process ~= run_id or opens > now
)";

constexpr std::string_view claim_keys_text = R"(
local key, line, marker = #KEYS, 2, #KEYS - 1
local ttl = tonumber(ARGV[2])
)";
constexpr std::string_view closed_to_claims_text = R"(
local closed = closed_for()
if closed and closed.err then
  return closed
end
)";

// The number is greater than each earlier one of this key, even if the counter was lost. Lua's numbers are exact up to
// 2^53, which the server's time in microseconds reaches in the year 2255: places are not ordered by greater ones.
constexpr std::string_view draw_text = R"(
local out_of_range = {err = 'ERR value is not an integer or out of range'}
local function draw(last)
  local number = redis.call('INCR', KEYS[1])
  local least = math.max(time[1] * 1000000 + time[2], last + 1)
  local text = string.format('%.0f', math.max(number, least))
  if number < least then
    number = least
    redis.call('SET', KEYS[1], text)
  end
  return number < 9007199254740992 and number, text
end
)";

// A key without places, which is the common case, is taken before the functions of the other cases are made.
constexpr std::string_view claim_free_text = R"(
if not closed and redis.call('EXISTS', KEYS[key]) == 0 then
  local share, ends, drawn, number = ARGV[3] .. ' ' .. ARGV[4], string.format('%.0f', now + ttl), draw(0)
  if not drawn then
    return out_of_range
  end
  redis.call('HSET', KEYS[key], 'mode', 'line',
    'head', share .. ' ' .. ends .. ' 0 0 0 ' .. number .. ' ' .. ARGV[2] .. ' 1 0 1 1',
    ARGV[1], number .. ' ' .. ends .. ' ' .. ARGV[2] .. ' ' .. share .. ' ' .. ARGV[5] .. ' 0')
  redis.call('PEXPIRE', KEYS[key], ARGV[2])
  return {'held', number, ''}
end
)";

// HMGET by pcall, because a key of another type belongs to another program.
constexpr std::string_view read_own_text = R"(
local got = redis.pcall('HMGET', KEYS[key], 'mode', 'head', ARGV[1]) or {}
if got.err and string.sub(got.err, 1, 9) ~= 'WRONGTYPE' then
  return got
end
local own = got[1] == 'line' and read_place(ARGV[1], got[3])
local function number_of(place)
  return string.format('%.0f', place.number)
end
local function places_ahead(head, place)
  local ahead = head.count - head.waiting + place.position - head.first
  return place.position > 0 and math.max(math.min(ahead, head.count - 1), 0) or 0
end
)";
constexpr std::string_view claim_closed_text = R"(
if closed then
  if not own or own.ends <= now then
    return {'closed', '', 0, closed[2]}
  end
  extend(key, own, ttl)
  return {'closed', number_of(own), places_ahead(read_head(got[2]), own), closed[2]}
end
)";

// INCR can fail after a review has written: the head, which is saved last, makes the next script review again.
constexpr std::string_view claim_text = R"(
if got[1] ~= 'line' then
  return {'other', redis.call('PTTL', KEYS[key])}
end
local head, promoted, found = read_head(got[2]), {}, nil
if is_stale(head) then
  head, found = review(key, head, false, promoted)
  own = found[ARGV[1]]
end
if not own then
  local weight, capacity = tonumber(ARGV[3]), tonumber(ARGV[4])
  local fits = head.waiting == 0 and head.held + weight <= math.min(head.least, capacity)
  if head.count >= 1024 or not (fits or ARGV[6] == '1') then
    if found then
      save(key, head)
    end
    return {'busy', '', head.count, math.max(head.due - now, 0), #promoted > 0 and tell(line, ARGV[7], promoted) or ''}
  end
  local number = draw(head.last)
  if not number then
    return out_of_range
  end
  own = {owner = ARGV[1], number = number, weight = weight, capacity = capacity, store = ARGV[5], position = 0}
  if head.count > 0 and capacity ~= head.least then
    head.mixed = 1
  end
  head.count, head.last = head.count + 1, own.number
  if fits then
    head.held, head.least = head.held + weight, math.min(head.least, capacity)
  else
    if head.waiting == 0 then
      head.next_weight, head.next_capacity, head.first = weight, capacity, head.next
    end
    own.position, head.waiting, head.next = head.next, head.waiting + 1, head.next + 1
    redis.call('HSET', KEYS[key], '~' .. own.position, ARGV[1])
  end
end
own.ends, own.ttl = now + ttl, ttl
head.due, head.longest = math.min(head.due, own.ends), math.max(head.longest, ttl)
redis.call('HSET', KEYS[key], ARGV[1], place_text(own))
save(key, head)
local others = {}
for i = 1, #promoted do
  if promoted[i] ~= own then
    others[#others + 1] = promoted[i]
  end
end
local note = #others > 0 and tell(line, ARGV[7], others) or ''
if own.position == 0 then
  return {'held', number_of(own), note}
end
return {'busy', number_of(own), places_ahead(head, own), head.due - now, note}
)";

constexpr std::string_view renew_text = R"(
local ttl, result = tonumber(ARGV[1]), {}
for i = 1, #KEYS - base do
  local key, owner = base + i, ARGV[i + 1]
  local text = redis.pcall('HGET', KEYS[key], owner)
  if type(text) == 'table' and string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then
    return text
  end
  local place = type(text) == 'string' and read_place(owner, text)
  result[i] = '0'
  if place and place.position == 0 and place.ends > now then
    extend(key, place, ttl)
    result[i] = '1'
  end
end
return table.concat(result)
)";

// The only place of a key that had no waiters, which is the common case, is removed before the functions of the other
// cases are made. The head ends with its count, which is never less than the number of places. HMGET by pcall, because
// a key of another type belongs to another program.
constexpr std::string_view leave_last_text = R"(
local how, stride = ARGV[1], ARGV[1] == '' and 1 or 2
local flags, notes, more = {}, {}, false
for i = 1, #ARGV - 1 do
  local key, owner = base + i * stride, ARGV[i + 1]
  local got = redis.pcall('HMGET', KEYS[key], 'mode', 'head', owner) or {}
  if got.err and string.sub(got.err, 1, 9) ~= 'WRONGTYPE' then
    return got
  end
  flags[i], notes[i] = '0', ''
  local ends = got[1] == 'line' and got[3] and string.match(got[3], '^%d+ (%d+) ')
  if ends and got[2] and string.sub(got[2], -8) == ' 1 0 1 1' then
    redis.call('DEL', KEYS[key])
    flags[i] = tonumber(ends) > now and '1' or '0'
    local line = key - 1
    local watched = how ~= '' and redis.pcall('EXISTS', KEYS[line])
    notes[i] = watched == 0 and '' or tell(line, how, {})
  elseif ends then
    flags[i], more = false, true
  end
end
if more then
)";
constexpr std::string_view leave_text = R"(
  local function leave(key, line, owner)
    local got = redis.call('HMGET', KEYS[key], 'mode', 'head', owner)
    local place = got[1] == 'line' and read_place(owner, got[3])
    if not place then
      return '0', ''
    end
    local flag, promoted, head = place.ends > now and '1' or '0', {}, read_head(got[2])
    local may_promote = take_out(head, place)
    if is_stale(head) or (head.mixed == 1 and place.capacity == head.least) then
      head = review(key, head, closed, promoted, owner)
    elseif closed and head.waiting > 0 then
      head.due = 0
    elseif may_promote then
      promote(key, head, promoted)
    end
    save(key, head)
    remove(key, place)
    return flag, tell(line, how, promoted)
  end
  for i = 1, #flags do
    local key = base + i * stride
    if not flags[i] then
      flags[i], notes[i] = leave(key, key - 1, ARGV[i + 1])
    end
  end
end
if table.concat(notes) == '' then
  return table.concat(flags)
end
return {table.concat(flags), unpack(notes)}
)";

constexpr std::string_view replace_keys_text = R"(
local key, line, marker = #KEYS, 1, #KEYS - 1
)";
constexpr std::string_view replace_text = R"(
local got = redis.pcall('HMGET', KEYS[key], 'mode', 'head', ARGV[2], ARGV[3]) or {}
if got.err and string.sub(got.err, 1, 9) ~= 'WRONGTYPE' then
  return got
end
if got[1] ~= 'line' or not (got[3] or got[4]) then
  return {-2, ''}
end
local promoted, left, leaves = {}, -2, false
local head, found = review(key, read_head(got[2]), closed, promoted)
local place, replaced, evicts = found[ARGV[2]], found[ARGV[3]], ARGV[4] == 'evict'
if replaced and not evicts then
  left = replaced.ends - now
elseif place and place.position == 0 then
  place.owner = evicts and ARGV[3] .. '/' .. string.format('%.0f', place.number) or ARGV[3]
  if not evicts and ARGV[4] ~= '' then
    place.ttl = tonumber(ARGV[4])
    place.ends = now + place.ttl
    head.due, head.longest = math.min(head.due, place.ends), math.max(head.longest, place.ttl)
  end
  redis.call('HSET', KEYS[key], place.owner, place_text(place))
  redis.call('HDEL', KEYS[key], ARGV[2])
  left = place.ends - now
elseif place and evicts then
  left, leaves = 0, true
  if take_out(head, place) and not closed then
    promote(key, head, promoted)
  end
end
save(key, head)
if leaves then
  remove(key, place)
end
return {left, (leaves or #promoted > 0) and tell(line, ARGV[1], promoted) or ''}
)";

std::string make_claim(bool delays)
{
    auto const closes = delays
                            ? join({scripts::marker_text, scripts::closed_after_failover_text, closed_to_claims_text})
                            : std::string(never_closed_text);
    return join(
        {clock_text, claim_keys_text, closes, draw_text, claim_free_text, place_text, head_text, extend_text,
         read_own_text, delays ? claim_closed_text : std::string_view(), rule_text, tell_text, claim_text});
}

std::string make_renew(bool delays)
{
    auto const notes_ttl = delays ? join({"local base, marker = 1, 1\n", scripts::marker_text, scripts::note_ttl_text})
                                  : std::string("local base = 0\n");
    return join({notes_ttl, clock_text, place_text, head_text, extend_text, renew_text});
}

std::string make_leave(bool delays)
{
    auto const closes = delays ? join({"local base, marker = 1, 1\n", scripts::marker_text, closed_now_text})
                               : join({"local base = 0\n", never_closed_text});
    return join(
        {clock_text, closes, tell_text, leave_last_text, place_text, head_text, rule_text, take_out_text, leave_text});
}

std::string make_replace(bool delays)
{
    auto const closes = delays ? join({scripts::marker_text, closed_now_text}) : std::string(never_closed_text);
    return join(
        {clock_text, replace_keys_text, closes, place_text, head_text, rule_text, take_out_text, tell_text,
         replace_text});
}

} // namespace

PlaceScript const& claim()
{
    static Immortal<PlaceScript> const script(Script(make_claim(false)), Script(make_claim(true)));
    return *script;
}

PlaceScript const& renew()
{
    static Immortal<PlaceScript> const script(Script(make_renew(false)), Script(make_renew(true)));
    return *script;
}

PlaceScript const& leave()
{
    static Immortal<PlaceScript> const script(Script(make_leave(false)), Script(make_leave(true)));
    return *script;
}

PlaceScript const& replace()
{
    static Immortal<PlaceScript> const script(Script(make_replace(false)), Script(make_replace(true)));
    return *script;
}

} // namespace tenure::redis::place_scripts
