// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace own_store
{

/** The content of a key's file. The file of a key that was held once is never removed: it keeps the last token, so that
 * fencing tokens rise over restarts. */
struct Record {
    /// the last fencing token that was granted for the key
    std::uint64_t token = 0;
    /// empty: the key is free. It is `resting/<owner>` or `kept/<owner>` after a claim that ended and left the key
    /// taken
    std::string owner = {};
    /// when the key becomes free by itself, and how long before that it was taken or renewed
    tenure::Instant expires = {};
    std::chrono::milliseconds lifetime = {};
    /// the file is not a record but belongs to another program: the key is taken, has no owner, and is never changed
    bool is_foreign = false;

    [[nodiscard]] bool is_free(tenure::Instant now) const noexcept
    {
        return !is_foreign && (owner.empty() || now >= expires);
    }
    [[nodiscard]] bool is_held_by(std::string_view who, tenure::Instant now) const noexcept
    {
        return !is_free(now) && owner == who;
    }
    /** Rounded up: a key that is taken never shows nothing. */
    [[nodiscard]] std::chrono::milliseconds remaining(tenure::Instant now) const
    {
        return std::chrono::ceil<std::chrono::milliseconds>(expires - now);
    }
    void expire_after(std::chrono::milliseconds time, tenure::Instant now)
    {
        lifetime = time;
        expires = now + time;
    }
};

[[nodiscard]] std::string to_text(Record const& record);

/** @param is_of_other_boot  set if the record counts from `now` on, and has to be written again */
[[nodiscard]] Record read_record(std::string const& text, tenure::Instant now, bool& is_of_other_boot);

/** A file name for a key: letters, digits, `-`, `_` and `:` stand for themselves, all else is `%` and its code. No such
 * name begins with a dot. */
[[nodiscard]] std::string file_name(std::string_view key);

} // namespace own_store
