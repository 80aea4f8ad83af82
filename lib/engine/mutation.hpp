// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::engine
{

/** Bugs that tests plant, one at a time, to see that they are found. In the library that ships `mutated` is constant,
 *  and nothing is left of them; docs/testing.md says which rule each of them breaks. */
enum class Mutant {
    none,
    validity_from_answer,
    no_margin,
    no_drift,
    notice_ignored,
    unknown_counts_as_success,
    failure_not_retried,
    shorter_ttl_not_lowered,
    deadline_only_on_renewal,
    loss_ignored,
    renewal_after_release,
    one_failure_stops_others,
    token_fires_twice,
    release_fires_token,
    token_ignores_clock,
    valid_ignores_clock,
    owner_repeated,
    spent_owner_used_again,
    late_grant_believed,
    claim_not_idempotent,
    earliest_attempt_moves,
    claim_without_end,
    slot_shifted,
    cancel_ignored,
    cancelled_claim_forgotten,
    unknown_claim_forgotten,
    release_given_up,
    wake_up_missed,
    turn_not_passed,
    no_pause,
    waiters_outlive_context
};

#ifdef TENURE_MUTANTS
/** The one that is planted now. */
inline Mutant active_mutant = Mutant::none;
[[nodiscard]] inline bool mutated(Mutant mutant) noexcept
{
    return active_mutant == mutant;
}
#else
[[nodiscard]] constexpr bool mutated(Mutant) noexcept
{
    return false;
}
#endif

} // namespace tenure::engine
