// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Scripts that free keys and notify waiters.
#include "scripts.hpp"

#include "script_parts.hpp"

#include <runtime/immortal.hpp>

#include <string>
#include <string_view>

namespace tenure::redis::scripts
{

namespace
{

// A name leaves the line and is published only after its key was deleted: the named store claims at once, and must find
// the key free. No error here may fail a release, so each command is called by pcall.
//
// A release whose reply is lost has done all of this or nothing. Its retry finds another owner and names no store
// again. A lost message costs only a delay: the named store claims when its subscription is in force again, and every
// waiter also polls.
//
// If a command of the line fails, the message goes to all waiters.
//
// `wake` answers the message for the waiters of KEYS[line], '' for none. It publishes the message unless `how` is '-'.
constexpr std::string_view wake_text = R"(
local publish_note, line_note = '', ''
local function note_line(reply)
  if type(reply) == 'table' then
    line_note = '\n?' .. string.sub(reply.err, 1, 200)
  end
  return reply
end
local function wake(line, freed)
  if freed == 0 then
    return ''
  end
  local names = {}
  while line_note == '' and #names < freed do
    local popped = note_line(redis.pcall('LPOP', KEYS[line]))
    if type(popped) ~= 'string' then
      break
    end
    names[#names + 1] = popped
  end
  local watched = line + 1
  if #names == 0 and line_note == '' and redis.pcall('EXISTS', KEYS[watched]) == 0 then
    return ''
  end
  local message = #names > 0 and table.concat(names, ' ') or '1'
  if how ~= '-' then
    local reply = redis.pcall('PUBLISH', string.sub(KEYS[line], 1, -8) .. 'free', message)
    if type(reply) == 'table' and reply.err then
      publish_note = '\n!' .. string.sub(reply.err, 1, 200)
    end
  end
  return message
end
)";

// GET by pcall, because GET of another type is an error, while MGET answers nil.
//
// A key for quarantine comes alone. A name leaves the line for it as well: the named store claims, and learns when the
// key becomes free.
constexpr std::string_view release_text = R"(
local key = #KEYS
local held = redis.pcall('GET', KEYS[key])
if held ~= ARGV[1] then
  if type(held) == 'table' and string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
  end
  return '0'
end
if ARGV[4] then
  redis.call('SET', KEYS[key], ARGV[3], 'PX', ARGV[4])
else
  redis.call('DEL', KEYS[key])
end
if key == 1 then
  return '1'
end
local there = redis.pcall('EXISTS', KEYS[1], KEYS[2])
if there == 0 then
  return '1'
end
local how = ARGV[2]
)";
constexpr std::string_view end_of_release_text = R"(
note_line(there)
local message = wake(1, 1)
return {'1' .. publish_note .. line_note, message}
)";

// The keys of a range follow each other. A key that comes twice, because two claims of one owner were granted it, is
// freed once.
constexpr std::string_view release_each_text = R"(
local ranges = #KEYS - #ARGV + 1
local base = 2 * ranges
local n = #KEYS - base
local held = redis.call('MGET', unpack(KEYS, base + 1, #KEYS))
local own, owned = {}, 0
for i = 1, n do
  if held[i] == ARGV[i + 1] then
    owned = owned + 1
    own[owned] = KEYS[base + i]
  end
end
if owned > 0 then
  redis.call('DEL', unpack(own))
end
local there = ranges > 0 and redis.pcall('EXISTS', unpack(KEYS, 1, base)) or 0
if there == 0 and owned == n then
  return string.rep('1', n)
end
local how = ARGV[1]
)";
constexpr std::string_view end_of_release_each_text = R"(
note_line(there)
local flags, messages, first = {}, {}, 1
for i = 1, n do
  flags[i] = held[i] == ARGV[i + 1] and '1' or '0'
end
for range = 1, there == 0 and 0 or ranges do
  local last = first + ARGV[1 + n + range] - 1
  local freed, counted = 0, {}
  for i = first, last do
    local key = KEYS[base + i]
    if flags[i] == '1' and not counted[key] then
      counted[key] = true
      freed = freed + 1
    end
  end
  first = last + 1
  messages[range] = wake(2 * range - 1, freed)
end
return {table.concat(flags) .. publish_note .. line_note, unpack(messages)}
)";

constexpr std::string_view withdraw_text = R"(
local base = ARGV[2] == '' and 0 or 2
local own = {}
for first = base + 1, #KEYS, 64 do
  local last = math.min(first + 63, #KEYS)
  local held = redis.call('MGET', unpack(KEYS, first, last))
  for i = 1, #held do
    if held[i] == ARGV[1] then
      own[#own + 1] = first + i - 1
    end
  end
end
for i = 1, #own do
  local key = own[i]
  if ARGV[4] then
    redis.call('SET', KEYS[key], ARGV[3], 'PX', ARGV[4])
  else
    redis.call('DEL', KEYS[key])
  end
end
if #own == 0 or base == 0 then
  return tostring(#own)
end
local there = redis.pcall('EXISTS', KEYS[1], KEYS[2])
if there == 0 then
  return tostring(#own)
end
local how = ARGV[2]
)";
constexpr std::string_view end_of_withdraw_text = R"(
note_line(there)
local message = wake(1, #own)
return {#own .. publish_note .. line_note, message}
)";

constexpr std::string_view notify_freed_text = R"(
local there = redis.pcall('EXISTS', KEYS[1], KEYS[2])
if there == 0 then
  return '1'
end
local how = ARGV[2]
)";
constexpr std::string_view end_of_notify_freed_text = R"(
note_line(there)
local message = wake(1, tonumber(ARGV[1]))
return {'1' .. publish_note .. line_note, message}
)";

// A line that did not grow already has the name, or is full.
constexpr std::string_view line_up_text = R"(
local before = redis.pcall('LLEN', KEYS[1])
local refusal = join_line(ARGV[1], ARGV[2])
if refusal ~= '' then
  return '?' .. string.sub(refusal, 1, 200)
end
return redis.pcall('LLEN', KEYS[1]) == before and 'there' or 'joined'
)";

} // namespace

PublishingScript const& release()
{
    static Immortal<PublishingScript> const script(join({release_text, wake_text, end_of_release_text}));
    return *script;
}

PublishingScript const& release_each()
{
    static Immortal<PublishingScript> const script(join({release_each_text, wake_text, end_of_release_each_text}));
    return *script;
}

PublishingScript const& withdraw()
{
    static Immortal<PublishingScript> const script(join({withdraw_text, wake_text, end_of_withdraw_text}));
    return *script;
}

PublishingScript const& notify_freed()
{
    static Immortal<PublishingScript> const script(join({notify_freed_text, wake_text, end_of_notify_freed_text}));
    return *script;
}

Script const& line_up()
{
    static Immortal<Script> const script(join({"local line = 1\n", join_line_text, line_up_text}));
    return *script;
}

} // namespace tenure::redis::scripts
