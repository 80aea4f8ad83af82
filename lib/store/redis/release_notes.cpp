// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What a connection remembers of the notes in a release's reply; apart from reading the reply, which is pure.
#include "key_names.hpp"
#include "release_reply.hpp"
#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

namespace tenure::redis
{

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
