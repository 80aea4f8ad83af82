// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "range_cache.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace tenure::redis
{

/** What a look at all held keys of a range told: it costs more than the claim, so large ranges are looked at now and
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
