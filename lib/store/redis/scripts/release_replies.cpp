// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for replies of the releasing scripts.
#include "release_replies.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace tenure::redis
{

namespace
{

constexpr std::size_t name_size = 32;

/** Splits the notes from the text of a reply. False: they are malformed. */
bool read_notes(std::string_view& text, ReleaseNotes& notes)
{
    auto const end = std::min(text.find('\n'), text.size());
    auto rest = text.substr(end);
    text = text.substr(0, end);
    while (!rest.empty()) {
        rest.remove_prefix(1);
        auto const line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(line.size());
        if (line.size() < 2)
            return false;
        if (line.front() == '!')
            notes.publish_refusal = line.substr(1);
        else if (line.front() == '?')
            notes.line_refusal = line.substr(1);
        else
            return false;
    }
    return true;
}

/** Reads the text before the notes. */
std::optional<std::string_view> read_text(resp::Value const& reply, std::size_t ranges, ReleaseNotes& notes)
{
    auto const* text = &reply;
    if (reply.is_list()) {
        auto const parts = reply.elements();
        if (parts.empty() || !std::ranges::all_of(parts, &resp::Value::is_string))
            return std::nullopt;
        text = &parts.front();
        notes.messages = parts.subspan(1);
        if (!notes.messages.empty() && notes.messages.size() != ranges)
            return std::nullopt;
    }
    if (!text->is_string())
        return std::nullopt;
    auto words = text->as_string();
    return read_notes(words, notes) ? std::optional(words) : std::nullopt;
}

} // namespace

std::optional<ReleaseFlags> read_release_flags(resp::Value const& reply, std::size_t keys, std::size_t ranges)
{
    ReleaseFlags flags;
    auto const text = read_text(reply, ranges, flags.notes);
    if (!text || text->size() != keys || text->find_first_not_of("01") != std::string_view::npos)
        return std::nullopt;
    flags.keys = *text;
    return flags;
}

std::optional<WithdrawnKeys> read_withdrawn_keys(resp::Value const& reply)
{
    WithdrawnKeys keys;
    auto const text = read_text(reply, 1, keys.notes);
    if (!text)
        return std::nullopt;
    auto const* const end = text->data() + text->size();
    auto const [read, error] = std::from_chars(text->data(), end, keys.count);
    return error == std::errc{} && read == end ? std::optional(keys) : std::nullopt;
}

std::string_view name_in(std::string_view message, std::size_t position) noexcept
{
    auto const begin = position * (name_size + 1);
    return begin + name_size <= message.size() ? message.substr(begin, name_size) : std::string_view();
}

bool names_another(std::string_view message, std::string_view name) noexcept
{
    for (std::size_t i = 0; !name_in(message, i).empty(); ++i)
        if (name_in(message, i) != name)
            return true;
    return false;
}

} // namespace tenure::redis
