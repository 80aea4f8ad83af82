// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/redis/wire/command.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace tenure::redis
{

/** Keys of a range, encoded as arguments. */
using EncodedKeys = std::shared_ptr<resp::EncodedArguments const>;

/** The most keys of one script call. Larger ranges take several pages. */
inline constexpr std::uint32_t max_keys_per_call = 4096;

[[nodiscard]] EncodedKeys encode_keys(KeyRange const& range, std::uint32_t first_index, std::uint32_t count);

/** The fence keys of these keys (see `fence_key`). */
[[nodiscard]] EncodedKeys encode_fence_keys(KeyRange const& range, std::uint32_t first_index, std::uint32_t count);

/** Encoded keys of the ranges in use, and results of earlier claims on them. */
class RangeCache
{
public:
    /// number of keys in a part: see `part`
    static constexpr std::uint32_t part_size = 128;

    struct Notes {
        /// one per page; null until needed
        std::vector<EncodedKeys> pages;
        /// one per part; null until needed
        std::vector<EncodedKeys> parts;
        /// the first free key of the last claim was outside the first part
        bool first_part_was_held = false;
        /// the last survey is reused until then; the epoch: never busy so far
        Instant next_survey{};
        /// when the first held key of the range expires, according to the last survey; min: unknown
        Instant earliest_expiry = Instant::min();
    };

    /** The encoded keys of a page. They are not cached for single keys and very large ranges. */
    [[nodiscard]] EncodedKeys keys(KeyRangePtr const& range, std::uint32_t page);

    /** The encoded keys of a part of a one-page range. */
    [[nodiscard]] EncodedKeys part(KeyRangePtr const& range, std::uint32_t part);

    /** True if searching for the first part with a free key probably pays for its round trip: a large one-page range
     *  whose last claim found the first part held. */
    [[nodiscard]] bool is_worth_a_gap_search(KeyRangePtr const& range);

    /** Records the position of the first free key; nullopt: none was free. */
    void note_first_free(KeyRangePtr const& range, std::optional<std::uint32_t> index);

    /** The notes on a range. The reference is valid until the next call. */
    [[nodiscard]] Notes& notes(KeyRangePtr const& range);

private:
    std::map<std::weak_ptr<KeyRange const>, Notes, std::owner_less<>> notes_;
    /// at this number of notes, notes on ranges that are gone are removed
    std::size_t sweep_at_ = 0;
};

[[nodiscard]] constexpr std::uint32_t page_count(KeyRange const& range) noexcept
{
    return (range.count + max_keys_per_call - 1) / max_keys_per_call;
}

/** Result of reading all held keys of a range. This costs more than the claim, so large ranges are surveyed rarely and
 *  the result is reused. */
struct Survey {
    /// unset: no key expires
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// keys without ttl
    std::uint32_t foreign = 0;
};

/** True if a busy answer to the request shall include a survey. */
[[nodiscard]] bool survey_is_due(RangeCache& ranges, ClaimRequest const& request, Instant now);

/** Makes the answer for a range whose keys are all held, and updates the notes.
 *  @param survey unset: this call made none */
[[nodiscard]] Busy
busy_reply(RangeCache& ranges, KeyRangePtr const& range, Instant now, std::optional<Survey> const& survey);

} // namespace tenure::redis
