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
        {{"validity_from_answer", {Rule::s2, Rule::s3, Rule::s4}}, Mutant::validity_from_answer, nullptr},
        {{"no_margin", {Rule::s2, Rule::s3, Rule::s4}}, Mutant::no_margin, nullptr},
        {{"no_drift", {Rule::s2, Rule::s3, Rule::s4}}, Mutant::no_drift, nullptr},
        {{"notice_ignored", {Rule::s2}}, Mutant::notice_ignored, nullptr},
        {{"unknown_counts_as_success", {Rule::s2, Rule::s4}}, Mutant::unknown_counts_as_success, nullptr},
        {{"failure_not_retried", {Rule::l2}}, Mutant::failure_not_retried, nullptr},
        {{"shorter_ttl_not_lowered", {Rule::s2, Rule::s4}}, Mutant::shorter_ttl_not_lowered, nullptr},
        {{"deadline_only_on_renewal", {Rule::s2}}, Mutant::deadline_only_on_renewal, nullptr},
        {{"loss_ignored", {Rule::s5}}, Mutant::loss_ignored, nullptr},
        {{"renewal_after_release", {Rule::s8}}, Mutant::renewal_after_release, nullptr},
        {{"one_failure_stops_others", {Rule::l2}}, Mutant::one_failure_stops_others, nullptr},
        {{"token_fires_twice", {Rule::s6}}, Mutant::token_fires_twice, nullptr},
        {{"release_fires_token", {Rule::s6}}, Mutant::release_fires_token, nullptr},
        {{"token_ignores_clock", {Rule::s2}}, Mutant::token_ignores_clock, nullptr},
        {{"valid_ignores_clock", {Rule::s1}}, Mutant::valid_ignores_clock, nullptr},
        {{"owner_repeated", {Rule::s1, Rule::s7, Rule::s8}}, Mutant::owner_repeated, nullptr},
        {{"spent_owner_used_again", {Rule::s1, Rule::s2, Rule::s9}}, Mutant::spent_owner_used_again, nullptr},
        {{"late_grant_believed", {Rule::s2, Rule::s3}}, Mutant::late_grant_believed, nullptr},
        {{"claim_not_idempotent", {Rule::s2, Rule::s9}}, Mutant::claim_not_idempotent, nullptr},
        {{"earliest_attempt_moves", {Rule::s2}}, Mutant::earliest_attempt_moves, nullptr},
        {{"claim_without_end", {Rule::s13}}, Mutant::claim_without_end, nullptr},
        {{"slot_shifted", {Rule::s11}}, Mutant::slot_shifted, nullptr},
        {{"cancel_ignored", {Rule::s9}}, Mutant::cancel_ignored, nullptr},
        {{"cancelled_claim_forgotten", {Rule::s9}}, Mutant::cancelled_claim_forgotten, nullptr},
        {{"unknown_claim_forgotten", {Rule::s9}}, Mutant::unknown_claim_forgotten, nullptr},
        {{"release_given_up", {Rule::s9}}, Mutant::release_given_up, nullptr},
        {{"wake_up_missed", {Rule::l1}}, Mutant::wake_up_missed, nullptr},
        {{"turn_not_passed", {Rule::l1}}, Mutant::turn_not_passed, nullptr},
        {{"no_pause", {Rule::l4}}, Mutant::no_pause, nullptr},
        {{"waiters_outlive_context", {Rule::s14}}, Mutant::waiters_outlive_context, nullptr},
        {{"release_without_compare", {Rule::s7}}, Mutant::none, &StoreMutants::release_without_compare},
        {{"fence_by_increment", {Rule::s10}}, Mutant::none, &StoreMutants::fence_by_increment},
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
