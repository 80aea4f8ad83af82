// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/wire/command.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tenure::redis
{

/** Keys in the form in which scripts take them: their number, then the keys. */
using EncodedKeys = std::shared_ptr<resp::EncodedArguments const>;

/** The keys of one script call at most. Larger ranges go page by page. */
inline constexpr std::uint32_t max_keys_per_call = 4096;

[[nodiscard]] EncodedKeys encode_keys(KeyRange const& range, std::uint32_t first_index, std::uint32_t count);

/** Encoded keys of the ranges in use, and what claims have learned about them. */
class RangeCache
{
public:
    /// keys of a part: see `part`
    static constexpr std::uint32_t part_size = 128;

    struct Notes {
        std::weak_ptr<KeyRange const> range;
        /// one for each page; empty pointers where not needed yet
        std::vector<EncodedKeys> pages;
        /// likewise one for each part
        std::vector<EncodedKeys> parts;
        /// when the range was claimed from last, its first free key was not in the first part
        bool first_part_was_held = false;
        /// until then the last survey counts; the epoch: never busy so far
        Instant next_survey{};
        /// when the first held key of the range expires as the last survey saw it; min: unknown
        Instant earliest_expiry = Instant::min();
    };

    /** The keys of a page, encoded. Those of ranges of one key and of very large ones are made anew each time. */
    [[nodiscard]] EncodedKeys keys(KeyRangePtr const& range, std::uint32_t page);

    /** The keys of a part of a range of one page, encoded, without their number. */
    [[nodiscard]] EncodedKeys part(KeyRangePtr const& range, std::uint32_t part);

    /** True where asking for the first part with a free key is expected to save more than the round trip that it costs:
     * a large range of one page whose first part was held when it was claimed from last. */
    [[nodiscard]] bool is_worth_a_gap_search(KeyRangePtr const& range);

    /** Remembers where the first free key was. `index` is unset where there was none. */
    void note_first_free(KeyRangePtr const& range, std::optional<std::uint32_t> index);

    /** What is known about a range. The reference is valid until the next call. */
    [[nodiscard]] Notes& notes(KeyRangePtr const& range);

private:
    /// searched one after the other: a program uses few ranges of more than one key
    std::vector<Notes> notes_;
};

[[nodiscard]] constexpr std::uint32_t page_count(KeyRange const& range) noexcept
{
    return (range.count + max_keys_per_call - 1) / max_keys_per_call;
}

/** What a look at all held keys of a range shows: it costs more than the claim, so large ranges are looked at now and
 * then, and what was seen is remembered meanwhile. */
struct Survey {
    /// unset: none expires
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// keys without ttl
    std::uint32_t foreign = 0;
};

/** True if a busy answer to the request shall come with a survey. */
[[nodiscard]] bool survey_is_due(RangeCache& ranges, ClaimRequest const& request, Instant now);

/** The answer where all keys are held, and what is remembered of it.
 *  @param survey  unset: none was made this time */
[[nodiscard]] Busy
busy_reply(RangeCache& ranges, KeyRangePtr const& range, Instant now, std::optional<Survey> const& survey);

} // namespace tenure::redis
