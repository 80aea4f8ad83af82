// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parts of the scripts for keys that are held in places (`backend::Share`): the layout, and the rule.
//
// The hash at the key has these fields:
//
// | field                                         | value                                                      |
// | --------------------------------------------- | ---------------------------------------------------------- |
// | mode                                          | line: other programs and other kinds of locks keep off     |
// | head                                          | held least due waiting next_weight next_capacity last      |
// |                                               | longest count mixed first next                             |
// | owner, kept/<owner> or evicted/<who>/<number> | number ends ttl weight capacity store position; 0: holds   |
// | ~<position>                                   | the owner of a waiting place                               |
//
// The head saves most scripts from reading all places: `held` is the sum of the weights that hold, `least` their least
// capacity, and `first` the position of the first waiter, whose share is next_weight of next_capacity. `due` is at most
// the end of each place, `longest` at least the ttl of each. `mixed` is 1 if capacities may differ.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenure::redis::place_scripts
{

/// of one key, those that hold included
inline constexpr std::size_t most_places = 1024;

// The server's clock decides which places live. `key` and `line` are positions in KEYS: of the hash, and of the watched
// key.
inline constexpr std::string_view clock_text = R"(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
)";

// A text that a person has written by hand may be no place.
inline constexpr std::string_view place_text = R"(
local function read_place(owner, text)
  local number, ends, ttl, weight, capacity, store, position =
    string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S*) (%d+)$')
  return number and {owner = owner, number = tonumber(number), ends = tonumber(ends), ttl = tonumber(ttl),
    weight = tonumber(weight), capacity = tonumber(capacity), store = store, position = tonumber(position)}
end
local function place_text(place)
  return string.format('%.0f %.0f %.0f %.0f %.0f %s %.0f', place.number, place.ends, place.ttl, place.weight,
    place.capacity, place.store, place.position)
end
)";

// A head that a person has deleted is due at once, so that a review makes it anew. Until then no ttl is longer than a
// day.
inline constexpr std::string_view head_text = R"(
local infinite = 9007199254740991
local head_fields = {'held', 'least', 'due', 'waiting', 'next_weight', 'next_capacity', 'last', 'longest', 'count',
  'mixed', 'first', 'next'}
local function read_head(text)
  local head, read = {}, 0
  for number in string.gmatch(text or '', '%d+') do
    read = read + 1
    head[head_fields[read] or 'more'] = tonumber(number)
  end
  return read == 12 and head or {held = 0, least = infinite, due = 0, waiting = 0, next_weight = 0, next_capacity = 0,
    last = 0, longest = 86400000, count = 1, mixed = 1, first = 1, next = 1}
end
local function head_text(head)
  return string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f', head.held, head.least, head.due,
    head.waiting, head.next_weight, head.next_capacity, head.last, head.longest, head.count, head.mixed, head.first,
    head.next)
end
local function save(key, head)
  if head.count == 0 then
    redis.call('DEL', KEYS[key])
    return
  end
  redis.call('HSET', KEYS[key], 'head', head_text(head))
  redis.call('PEXPIRE', KEYS[key], string.format('%.0f', head.longest))
end
)";

inline constexpr std::string_view extend_text = R"(
local function extend(key, place, ttl)
  local ends = now + ttl
  local concerns_head = ends < place.ends or ttl > place.ttl
  place.ends, place.ttl = ends, ttl
  redis.call('HSET', KEYS[key], place.owner, place_text(place))
  if concerns_head then
    local head = read_head(redis.call('HGET', KEYS[key], 'head'))
    head.due, head.longest = math.min(head.due, ends), math.max(head.longest, ttl)
    save(key, head)
  elseif redis.call('PTTL', KEYS[key]) < ttl then
    redis.call('PEXPIRE', KEYS[key], string.format('%.0f', ttl))
  end
end
)";

// `review` reads all places: it drops those that have lapsed, and cuts those that end later than a ttl from now,
// because the clock was set back. Places that hold go on to hold, whatever the sums say. Where claims are closed after
// a failover
// (`closed`) no other place begins to hold, and the next script that finds them open reviews again.
//
// `promote` does the same by positions, if no place has lapsed: it reads only the places that begin to hold. It skips
// positions without a place, and ends at `next`. If a waiter is missing then, the next script reviews. The owner of a
// place that a person has deleted may have a newer one behind others.
inline constexpr std::string_view rule_text = R"(
local function admit(key, place, promoted)
  local position = place.position
  place.position = 0
  redis.call('HSET', KEYS[key], place.owner, place_text(place))
  redis.call('HDEL', KEYS[key], '~' .. position)
  promoted[#promoted + 1] = place
end
local function remove(key, place)
  redis.call('HDEL', KEYS[key], place.owner)
  redis.call('HDEL', KEYS[key], '~' .. place.position)
end
local function is_stale(head)
  return head.due <= now or head.due > now + head.longest
end
local function is_before(one, other)
  if (one.position == 0) ~= (other.position == 0) then
    return one.position == 0
  end
  return one.number < other.number
end
local function review(key, old, closed, promoted, leaving)
  local fields, places, found = redis.call('HGETALL', KEYS[key]), {}, {}
  for i = 1, #fields, 2 do
    local place = read_place(fields[i], fields[i + 1])
    if place and (place.ends <= now or place.owner == leaving) then
      remove(key, place)
    elseif place then
      if place.ends > now + place.ttl then
        place.ends = now + place.ttl
        redis.call('HSET', KEYS[key], place.owner, place_text(place))
      end
      places[#places + 1] = place
      found[place.owner] = place
    end
  end
  table.sort(places, is_before)
  local head = {held = 0, least = infinite, due = infinite, waiting = 0, next_weight = 0, next_capacity = 0,
    last = old.last, longest = 0, count = #places, mixed = 0, first = old.next, next = old.next}
  local sum, least = 0, infinite
  for i = 1, #places do
    local place = places[i]
    sum, least = sum + place.weight, math.min(least, place.capacity)
    head.due, head.longest = math.min(head.due, place.ends), math.max(head.longest, place.ttl)
    head.last, head.next = math.max(head.last, place.number), math.max(head.next, place.position + 1)
    if place.capacity ~= places[1].capacity then
      head.mixed = 1
    end
    if place.position == 0 or (head.waiting == 0 and sum <= least and not closed) then
      head.held, head.least = sum, least
      if place.position > 0 then
        admit(key, place, promoted)
      end
    else
      if head.waiting == 0 then
        head.next_weight, head.next_capacity, head.first = place.weight, place.capacity, place.position
      end
      head.waiting = head.waiting + 1
    end
  end
  if closed and head.waiting > 0 then
    head.due = 0
  end
  return head, found
end
local function promote(key, head, promoted)
  while head.waiting > 0 and head.first < head.next do
    local owner = redis.call('HGET', KEYS[key], '~' .. head.first)
    local place = owner and read_place(owner, redis.call('HGET', KEYS[key], owner))
    if place and place.position == head.first then
      head.next_weight, head.next_capacity = place.weight, place.capacity
      if head.held + place.weight > math.min(head.least, place.capacity) then
        return
      end
      admit(key, place, promoted)
      head.held, head.least = head.held + place.weight, math.min(head.least, place.capacity)
      head.waiting = head.waiting - 1
    end
    head.first = head.first + 1
  end
  if head.waiting > 0 then
    head.due = 0
  end
end
)";

// Counts the head without the place, which is removed after all writes that a server without memory refuses. Answers
// true if the first waiter may hold now.
inline constexpr std::string_view take_out_text = R"(
local function take_out(head, place)
  head.count = head.count - 1
  if place.position > 0 then
    local is_first = place.position == head.first
    head.waiting, head.first = head.waiting - 1, is_first and head.first + 1 or head.first
    return is_first
  end
  head.held = head.held - place.weight
  if head.held == 0 then
    head.least = infinite
  end
  return head.waiting > 0 and head.held + head.next_weight <= math.min(head.least, head.next_capacity)
end
)";

// Tells the stores whose places hold now, or if there are none an observer. Answers '' if nothing is left to do, '+' if
// the caller has to publish, or '!' and the error of the server.
inline constexpr std::string_view tell_text = R"(
local function tell(line, how, promoted)
  local names = {}
  for i = 1, #promoted do
    names[i] = promoted[i].store .. ':' .. string.format('%.0f', promoted[i].number)
  end
  if #names == 0 and how ~= '' and redis.pcall('EXISTS', KEYS[line]) == 0 then
    return ''
  end
  if how == '' or how == '-' then
    return '+'
  end
  local message, reply = #names > 0 and table.concat(names, ' ') or '1', nil
  if how == 's' then
    reply = redis.pcall('SPUBLISH', string.sub(KEYS[line], 1, -8) .. 'free', message)
  else
    reply = redis.pcall('PUBLISH', string.sub(KEYS[line], 1, -8) .. 'free', message)
  end
  if type(reply) == 'table' and reply.err then
    return '!' .. string.sub(reply.err, 1, 200)
  end
  return ''
end
)";

} // namespace tenure::redis::place_scripts
