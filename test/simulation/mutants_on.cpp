// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// For the program with the engine in which bugs can be planted.
#include "mutants.hpp"

#include <engine/mutation.hpp>

#include <algorithm>

namespace tenure::simulation
{

namespace
{

using engine::Mutant;

struct Planted {
    NamedMutant named;
    Mutant mutant;
    bool StoreMutants::* of_store;
};

std::vector<Planted> const& planted()
{
    static std::vector<Planted> const all{
        {{"validity_from_answer", {}}, Mutant::validity_from_answer, nullptr},
        {{"no_margin", {}}, Mutant::no_margin, nullptr},
        {{"no_drift", {}}, Mutant::no_drift, nullptr},
        {{"notice_ignored", {}}, Mutant::notice_ignored, nullptr},
        {{"unknown_counts_as_success", {}}, Mutant::unknown_counts_as_success, nullptr},
        {{"failure_not_retried", {}}, Mutant::failure_not_retried, nullptr},
        {{"shorter_ttl_not_lowered", {}}, Mutant::shorter_ttl_not_lowered, nullptr},
        {{"deadline_only_on_renewal", {}}, Mutant::deadline_only_on_renewal, nullptr},
        {{"loss_ignored", {}}, Mutant::loss_ignored, nullptr},
        {{"renewal_after_release", {}}, Mutant::renewal_after_release, nullptr},
        {{"one_failure_stops_others", {}}, Mutant::one_failure_stops_others, nullptr},
        {{"token_fires_twice", {}}, Mutant::token_fires_twice, nullptr},
        {{"release_fires_token", {}}, Mutant::release_fires_token, nullptr},
        {{"token_ignores_clock", {}}, Mutant::token_ignores_clock, nullptr},
        {{"valid_ignores_clock", {}}, Mutant::valid_ignores_clock, nullptr},
        {{"owner_repeated", {}}, Mutant::owner_repeated, nullptr},
        {{"spent_owner_used_again", {}}, Mutant::spent_owner_used_again, nullptr},
        {{"late_grant_believed", {}}, Mutant::late_grant_believed, nullptr},
        {{"claim_not_idempotent", {}}, Mutant::claim_not_idempotent, nullptr},
        {{"earliest_attempt_moves", {}}, Mutant::earliest_attempt_moves, nullptr},
        {{"claim_without_end", {}}, Mutant::claim_without_end, nullptr},
        {{"slot_shifted", {}}, Mutant::slot_shifted, nullptr},
        {{"cancel_ignored", {}}, Mutant::cancel_ignored, nullptr},
        {{"cancelled_claim_forgotten", {}}, Mutant::cancelled_claim_forgotten, nullptr},
        {{"unknown_claim_forgotten", {}}, Mutant::unknown_claim_forgotten, nullptr},
        {{"release_given_up", {}}, Mutant::release_given_up, nullptr},
        {{"wake_up_missed", {}}, Mutant::wake_up_missed, nullptr},
        {{"turn_not_passed", {}}, Mutant::turn_not_passed, nullptr},
        {{"no_pause", {}}, Mutant::no_pause, nullptr},
        {{"waiters_outlive_context", {}}, Mutant::waiters_outlive_context, nullptr},
        {{"release_without_compare", {}}, Mutant::none, &StoreMutants::release_without_compare},
        {{"fence_by_increment", {}}, Mutant::none, &StoreMutants::fence_by_increment},
    };
    return all;
}

} // namespace

std::vector<NamedMutant> const& all_mutants()
{
    static std::vector<NamedMutant> const all = [] {
        std::vector<NamedMutant> named;
        for (auto const& one : planted())
            named.push_back(one.named);
        return named;
    }();
    return all;
}

bool plant(World& world, std::string_view name)
{
    engine::active_mutant = Mutant::none;
    world.mutants = {};
    if (name == "none")
        return true;
    auto const found = std::ranges::find(planted(), name, [](Planted const& one) { return one.named.name; });
    if (found == planted().end())
        return false;
    engine::active_mutant = found->mutant;
    if (found->of_store != nullptr)
        world.mutants.*found->of_store = true;
    return true;
}

} // namespace tenure::simulation
