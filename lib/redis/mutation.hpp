// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::redis
{

/** Bugs of the Redis store that tests plant, as engine/mutation.hpp does for the engine. In the library that ships
 *  `mutated` is constant, and nothing is left of them. */
enum class Mutant {
    none,
    release_without_compare,
    renewal_without_compare,
    fence_by_increment,
    first_free_unchecked,
    own_claim_not_searched,
    first_flag_for_all,
    ended_renewal_sent,
    script_not_sent_again,
    written_reported_unsent,
    written_sent_again,
    replies_shift_after_cut,
    time_from_reply,
    login_not_awaited,
    database_not_selected,
    silence_ignored,
    hint_dropped
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

} // namespace tenure::redis
