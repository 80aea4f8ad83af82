// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "release_reply.hpp"

#include "key_names.hpp"
#include "server_error.hpp"

#include <tenure/errc.hpp>

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
        // without words it says nothing that could be told
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

void take_notes(Node& node, KeyRange const& range, ReleaseNotes const& notes)
{
    if (notes.publish_refused)
        node.publish_refused(channel_of(range));
    if (!notes.line_refusal.empty())
        note_line_refusal(node, range, notes.line_refusal);
}

void note_line_refusal(Node& node, KeyRange const& range, std::string_view words)
{
    // a slot on the move, a foreign key in the line's place: the next call may fare better
    if (auto const error = classify(words); error.error == errc::permission_denied)
        node.line_refused(line_of(range), error.words);
}

} // namespace tenure::redis
