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
// If a command of the line fails, the message goes to all waiters. This happens in a cluster while a slot migrates: the
// line may already be at the other node, and accessing it is an error.
constexpr std::string_view wake_text = R"(
local publish_note, line_note = '', ''
local function note_line(reply)
  if type(reply) == 'table' then
    line_note = '?' .. string.sub(reply.err, 1, 200)
  end
  return reply
end
local function wake(stem, name, freed, watched)
  local names = {}
  while name ~= '' and line_note == '' and #names < freed do
    local popped = note_line(redis.pcall('LPOP', stem .. ':waiting'))
    if type(popped) ~= 'string' then
      break
    end
    names[#names + 1] = popped
  end
  if #names > 0 or watched or name == '' or line_note ~= '' then
    local message = #names > 0 and table.concat(names, ' ') or '1'
    local reply = redis.pcall('PUBLISH', stem .. ':free', message)
    if type(reply) == 'table' and reply.err then
      publish_note = '!'
    end
  end
  return names
end
local function names_another(names, name)
  for i = 1, #names do
    if names[i] ~= name then
      return '2'
    end
  end
  return '1'
end
)";

// One key is the usual case and has a short script, at less than half the time of the general one. GET by pcall,
// because GET of another type is an error, while MGET answers nil.
//
// A key for quarantine comes alone. A name leaves the line for it as well: the named store claims, and learns when the
// key becomes free.
constexpr std::string_view release_one_text = R"(
local there
if #KEYS == 1 then
  local key = KEYS[1]
  local held = redis.pcall('GET', key)
  if held ~= ARGV[1] then
    if type(held) == 'table' and string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
      return held
    end
    return '0'
  end
  if ARGV[5] then
    redis.call('SET', key, ARGV[4], 'PX', ARGV[5])
  else
    redis.call('DEL', key)
  end
  local stem = ARGV[3]
  if not stem or stem == '' then
    return '1'
  end
  if ARGV[2] ~= '' then
    there = redis.pcall('EXISTS', stem .. ':waiting', stem .. ':watched')
    if there == 0 then
      return '1'
    end
  end
end
)";

// A stem and two names made from it cost the server less than three transferred names (1.32 instead of 1.37 us of a
// pair in a batch of 64; 3.05 instead of 3.17 alone). Keys of one range usually follow each other, so the script keeps
// the names of the last line. A key that comes twice, because two claims of one owner were granted it, is freed once.
constexpr std::string_view release_many_text = R"(
if #KEYS == 1 then
  note_line(there)
  return names_another(wake(ARGV[3], ARGV[2], 1, true), ARGV[2]) .. publish_note .. line_note
end
local n, name = #KEYS, ARGV[#KEYS + 1]
local held = redis.call('MGET', unpack(KEYS))
local own, owned, asked, last, a = {}, 0, {}, '', 0
for i = 1, n do
  if held[i] == ARGV[i] then
    owned = owned + 1
    own[owned] = KEYS[i]
    local stem = name and ARGV[n + 1 + i] or ''
    if stem ~= last and stem ~= '' then
      last = stem
      asked[a + 1] = stem .. ':waiting'
      asked[a + 2] = stem .. ':watched'
      a = a + 2
    end
  end
end
if owned > 0 then
  redis.call('DEL', unpack(own))
end
local quiet = a == 0
if not quiet and name ~= '' then
  there = note_line(redis.pcall('EXISTS', unpack(asked)))
  quiet = there == 0
end
if quiet and owned == n then
  return string.rep('1', n)
end
local result, stems, freed, counted = {}, {}, {}, {}
for i = 1, n do
  result[i] = '0'
  if held[i] == ARGV[i] then
    result[i] = '1'
    local stem = name and ARGV[n + 1 + i] or ''
    if not quiet and stem ~= '' and not counted[KEYS[i]] then
      counted[KEYS[i]] = true
      if not freed[stem] then
        stems[#stems + 1] = stem
        freed[stem] = {}
      end
      table.insert(freed[stem], i)
    end
  end
end
for i = 1, #stems do
  local stem = stems[i]
  local watched = name ~= '' and line_note == '' and redis.pcall('EXISTS', stem .. ':watched') == 1
  local names = wake(stem, name, #freed[stem], watched)
  for j = 1, #names do
    if names[j] ~= name then
      result[freed[stem][j]] = '2'
    end
  end
end
return table.concat(result) .. publish_note .. line_note
)";

constexpr std::string_view withdraw_text = R"(
local own = {}
for first = 1, #KEYS, 64 do
  local held = redis.call('MGET', unpack(KEYS, first, math.min(first + 63, #KEYS)))
  for i = 1, #held do
    if held[i] == ARGV[1] then
      own[#own + 1] = KEYS[first + i - 1]
    end
  end
end
if #own == 0 then
  return '0'
end
if ARGV[5] then
  for i = 1, #own do
    redis.call('SET', own[i], ARGV[4], 'PX', ARGV[5])
  end
else
  redis.call('DEL', unpack(own))
end
local name, stem = ARGV[2], ARGV[3]
if stem ~= '' then
  local there = name ~= '' and note_line(redis.pcall('EXISTS', stem .. ':waiting', stem .. ':watched'))
  if there ~= 0 then
    wake(stem, name, #own, true)
  end
end
return #own .. publish_note .. line_note
)";

constexpr std::string_view tell_freed_text = R"(
local name, stem = ARGV[1], ARGV[2]
local there = name ~= '' and note_line(redis.pcall('EXISTS', KEYS[1], stem .. ':watched'))
local names = {}
if there ~= 0 then
  names = wake(stem, name, tonumber(ARGV[3]), true)
end
return names_another(names, name) .. publish_note .. line_note
)";

// A line that did not grow already has the name, or is full.
constexpr std::string_view line_up_text = R"(
local before = redis.pcall('LLEN', KEYS[1])
local refusal = join_line(KEYS[1], ARGV[1], ARGV[2])
if refusal ~= '' then
  return '?' .. string.sub(refusal, 1, 200)
end
return redis.pcall('LLEN', KEYS[1]) == before and 'there' or 'joined'
)";

// Publishes within the shard of the channel, which does not involve nodes of other slots.
std::string with_spublish(std::string text)
{
    constexpr std::string_view plain = "'PUBLISH'";
    for (auto at = text.find(plain); at != std::string::npos; at = text.find(plain, at + plain.size()))
        text.replace(at, plain.size(), "'SPUBLISH'");
    return text;
}

} // namespace

Script const& release()
{
    static Immortal<Script> const script(join({release_one_text, wake_text, release_many_text}));
    return *script;
}

Script const& release_in_shard()
{
    static Immortal<Script> const script(with_spublish(join({release_one_text, wake_text, release_many_text})));
    return *script;
}

Script const& withdraw()
{
    static Immortal<Script> const script(join({wake_text, withdraw_text}));
    return *script;
}

Script const& withdraw_in_shard()
{
    static Immortal<Script> const script(with_spublish(join({wake_text, withdraw_text})));
    return *script;
}

Script const& tell_freed()
{
    static Immortal<Script> const script(join({wake_text, tell_freed_text}));
    return *script;
}

Script const& tell_freed_in_shard()
{
    static Immortal<Script> const script(with_spublish(join({wake_text, tell_freed_text})));
    return *script;
}

Script const& line_up()
{
    static Immortal<Script> const script(join({join_line_text, line_up_text}));
    return *script;
}

} // namespace tenure::redis::scripts
