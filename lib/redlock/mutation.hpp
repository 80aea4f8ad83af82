// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::redlock
{

/** Bugs of Redlock that tests plant, as engine/mutation.hpp does for the engine. In the library that ships `mutated` is
 *  constant, and nothing is left of them. */
enum class Mutant { none, token_not_agreed, minority_renews };

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

} // namespace tenure::redlock
