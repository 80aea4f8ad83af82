// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for the replies of the scripts that free keys.
#include "scripts.hpp"

#include <charconv>
#include <system_error>

namespace tenure::redis
{

namespace
{

std::optional<ReleaseNotes> read_notes(std::string_view text)
{
    ReleaseNotes notes;
    if (text.starts_with('!')) {
        notes.publish_refused = true;
        text.remove_prefix(1);
    }
    if (text.starts_with('?')) {
        notes.line_refusal = text.substr(1);
        // an empty note is malformed
        return notes.line_refusal.empty() ? std::nullopt : std::optional(notes);
    }
    return text.empty() ? std::optional(notes) : std::nullopt;
}

} // namespace

std::optional<ReleaseFlags> read_release_flags(resp::Value const& reply, std::size_t keys)
{
    auto const text = reply.as_string();
    if (!reply.is_string() || text.size() < keys ||
        text.substr(0, keys).find_first_not_of("012") != std::string_view::npos)
        return std::nullopt;
    auto const notes = read_notes(text.substr(keys));
    if (!notes)
        return std::nullopt;
    return ReleaseFlags{text.substr(0, keys), *notes};
}

std::optional<WithdrawnKeys> read_withdrawn_keys(resp::Value const& reply)
{
    auto const text = reply.as_string();
    WithdrawnKeys keys;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), keys.count);
    if (!reply.is_string() || error != std::errc{})
        return std::nullopt;
    auto const notes = read_notes(text.substr(static_cast<std::size_t>(end - text.data())));
    if (!notes)
        return std::nullopt;
    keys.notes = *notes;
    return keys;
}

} // namespace tenure::redis
