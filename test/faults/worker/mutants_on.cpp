// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// For the worker with the library in which bugs can be planted.
#include "mutants.hpp"

#include <engine/mutation.hpp>
#include <redis/mutation.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tenure::faults
{

namespace
{

using engine::Mutant;

/// those that can be seen from outside of a process
constexpr std::array<std::pair<std::string_view, Mutant>, 24> planted{
    {{"none", Mutant::none},
     {"validity_from_answer", Mutant::validity_from_answer},
     {"no_margin", Mutant::no_margin},
     {"no_drift", Mutant::no_drift},
     {"unknown_counts_as_success", Mutant::unknown_counts_as_success},
     {"deadline_only_on_renewal", Mutant::deadline_only_on_renewal},
     {"loss_ignored", Mutant::loss_ignored},
     {"renewal_after_release", Mutant::renewal_after_release},
     {"token_ignores_clock", Mutant::token_ignores_clock},
     {"valid_ignores_clock", Mutant::valid_ignores_clock},
     {"owner_repeated", Mutant::owner_repeated},
     {"late_grant_believed", Mutant::late_grant_believed},
     {"claim_not_idempotent", Mutant::claim_not_idempotent},
     {"claim_without_end", Mutant::claim_without_end},
     {"slot_shifted", Mutant::slot_shifted},
     {"cancelled_claim_forgotten", Mutant::cancelled_claim_forgotten},
     {"release_given_up", Mutant::release_given_up},
     {"unknown_claim_forgotten", Mutant::unknown_claim_forgotten},
     {"failure_not_retried", Mutant::failure_not_retried},
     {"one_failure_stops_others", Mutant::one_failure_stops_others},
     {"wake_up_missed", Mutant::wake_up_missed},
     {"turn_not_passed", Mutant::turn_not_passed},
     {"token_fires_twice", Mutant::token_fires_twice},
     {"release_fires_token", Mutant::release_fires_token}}};
constexpr std::array<std::pair<std::string_view, redis::Mutant>, 4> planted_in_redis{
    {{"release_without_compare", redis::Mutant::release_without_compare},
     {"renewal_without_compare", redis::Mutant::renewal_without_compare},
     {"fence_by_increment", redis::Mutant::fence_by_increment},
     {"written_reported_unsent", redis::Mutant::written_reported_unsent}}};

template <class M, std::size_t N>
bool plant_one_of(std::array<std::pair<std::string_view, M>, N> const& mutants, std::string_view name, M& active)
{
    auto const* const found = std::ranges::find(mutants, name, &std::pair<std::string_view, M>::first);
    if (found == mutants.end())
        return false;
    active = found->second;
    return true;
}

} // namespace

bool plant(std::string_view name)
{
    return plant_one_of(planted, name, engine::active_mutant) ||
           plant_one_of(planted_in_redis, name, redis::active_mutant);
}

} // namespace tenure::faults
