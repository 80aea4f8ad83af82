// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include "store/redis/wire/value.hpp"

#include <tenure/key_range.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenure::redis
{

/** What the scripts that release add to their replies (see release_scripts.hpp); views of the reply. */
struct ReleaseNotes {
    bool publish_refused = false;
    /// the server's words; empty: the line was not refused
    std::string_view line_refusal;
};

struct ReleaseFlags {
    /// for each key '0', '1' or '2'
    std::string_view keys;
    ReleaseNotes notes;
};
/** Reads the answer for `keys` keys; unset if it makes no sense. */
[[nodiscard]] std::optional<ReleaseFlags> read_release_flags(resp::Value const& reply, std::size_t keys);

struct WithdrawnKeys {
    std::uint32_t count = 0;
    ReleaseNotes notes;
};
/** Reads the answer to a withdrawal; unset if it makes no sense. */
[[nodiscard]] std::optional<WithdrawnKeys> read_withdrawn_keys(resp::Value const& reply);

/** Remembers for the connection what it may not do. Other errors of the line concern this call alone. */
void take_notes(Node& node, KeyRange const& range, ReleaseNotes const& notes);

/** Notes that a line was refused, if the words of the server say that it is for lack of permission. */
void note_line_refusal(Node& node, KeyRange const& range, std::string_view words);

} // namespace tenure::redis
