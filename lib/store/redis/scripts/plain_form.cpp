// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The forms of scripts for clusters, and for servers that check their text.
#include "plain_form.hpp"

namespace tenure::redis
{

namespace
{

/** A command for several keys, and the function that runs it key by key. */
struct Several {
    /// up to the arguments of `unpack(KEYS, first, last)`
    std::string_view call;
    std::string_view function;
    std::string_view text;
};

constexpr Several several[] = {
    {"redis.call('EXISTS', unpack(KEYS, ", "exist", R"(
local function exist(first, last)
  local count = 0
  for i = first, last do
    count = count + redis.call('EXISTS', KEYS[i])
  end
  return count
end
)"},
    {"redis.call('MGET', unpack(KEYS, ", "values_of", R"(
local function values_of(first, last)
  local values = {}
  for i = first, last do
    values[i - first + 1] = redis.call('MGET', KEYS[i])[1]
  end
  return values
end
)"},
};

constexpr std::string_view both = "redis.pcall('EXISTS', KEYS[1], KEYS[2])";
constexpr std::string_view each = "(redis.call('EXISTS', KEYS[1]) + redis.call('EXISTS', KEYS[2]))";

// The caller of a call that was made before the text was refused publishes after this note.
constexpr std::string_view not_published = "{err = 'ERR a script whose text is checked does not publish'}";

void replace_all(std::string& text, std::string_view part, std::string_view by)
{
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size()))
        text.replace(at, part.size(), by);
}

} // namespace

std::string with_spublish(std::string script)
{
    replace_all(script, "'PUBLISH'", "'SPUBLISH'");
    return script;
}

std::string plain_form(std::string_view script)
{
    std::string text(script);
    std::string functions;
    for (auto const& [call, function, definition] : several) {
        bool is_used = false;
        for (auto at = text.find(call); at != std::string::npos; at = text.find(call, at)) {
            is_used = true;
            // the brackets of unpack and of the call
            text.replace(text.find("))", at), 2, ")");
            text.replace(at, call.size(), std::string(function) + "(");
        }
        if (is_used)
            functions += definition;
    }
    replace_all(text, both, each);
    for (auto const publish_call : publish_calls) {
        replace_all(text, publish_call, not_published);
        replace_all(text, with_spublish(std::string(publish_call)), not_published);
    }
    return functions + text;
}

} // namespace tenure::redis
