// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim_survey.hpp"

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// Ranges up to this size are surveyed with every busy answer: it costs less than the call itself.
constexpr std::uint32_t small_range = 64;
// Larger ones at most so often.
constexpr auto survey_pause = 250ms;

} // namespace

bool survey_is_due(RangeCache& ranges, ClaimRequest const& request, Instant now)
{
    // A key that has begun to rest frees sooner than it seemed, and no message follows when it does.
    auto const& range = request.range;
    if (range->count <= small_range || request.reuse_after > 0ms)
        return true;
    // The first attempt at a large range does without: a pool with a free key is the usual case, and the next attempt
    // comes soon.
    auto const& notes = ranges.notes(range);
    return notes.next_survey != Instant{} && now >= notes.next_survey;
}

Busy busy_reply(RangeCache& ranges, KeyRangePtr const& range, Instant now, std::optional<Survey> const& survey)
{
    Busy busy;
    if (survey)
        busy = {survey->earliest_expiry, survey->foreign == range->count};
    if (range->count <= small_range)
        return busy;
    auto& notes = ranges.notes(range);
    if (survey) {
        notes.next_survey = now + survey_pause;
        notes.earliest_expiry = survey->earliest_expiry ? now + *survey->earliest_expiry : Instant::min();
    } else {
        if (notes.next_survey == Instant{})
            notes.next_survey = now;
        if (notes.earliest_expiry > now)
            busy.earliest_expiry = std::chrono::ceil<std::chrono::milliseconds>(notes.earliest_expiry - now);
    }
    return busy;
}

} // namespace tenure::redis
