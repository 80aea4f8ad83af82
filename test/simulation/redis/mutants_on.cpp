// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// For the program with the Redis store in which bugs can be planted.
#include "../mutants.hpp"

#include <redis/mutation.hpp>

#include <algorithm>

namespace tenure::simulation
{

namespace
{

using redis::Mutant;

struct Planted {
    NamedMutant named;
    Mutant mutant;
};

std::vector<Planted> const& planted()
{
    static std::vector<Planted> const all{
        {{"release_without_compare", {Rule::s7}}, Mutant::release_without_compare},
        {{"renewal_without_compare", {Rule::s12}}, Mutant::renewal_without_compare},
        {{"fence_by_increment", {Rule::s10}}, Mutant::fence_by_increment},
        {{"first_free_unchecked", {Rule::s1, Rule::s12}}, Mutant::first_free_unchecked},
        {{"own_claim_not_searched", {Rule::s9}}, Mutant::own_claim_not_searched},
        {{"first_flag_for_all", {Rule::s4, Rule::s5, Rule::l2}}, Mutant::first_flag_for_all},
        {{"ended_renewal_sent", {Rule::s8}}, Mutant::ended_renewal_sent},
        {{"script_not_sent_again", {Rule::l1, Rule::l2}}, Mutant::script_not_sent_again},
        {{"written_reported_unsent", {Rule::s9}}, Mutant::written_reported_unsent},
        {{"written_sent_again", {Rule::s8, Rule::s9}}, Mutant::written_sent_again},
        {{"replies_shift_after_cut", {Rule::s1, Rule::s3, Rule::s4, Rule::s10}}, Mutant::replies_shift_after_cut},
        {{"time_from_reply", {Rule::s2, Rule::s3, Rule::s4}}, Mutant::time_from_reply},
        {{"login_not_awaited", {Rule::s1, Rule::s3, Rule::s10, Rule::l1, Rule::l2}}, Mutant::login_not_awaited},
        {{"database_not_selected", {Rule::s1, Rule::s3, Rule::s10}}, Mutant::database_not_selected},
        {{"silence_ignored", {Rule::l1, Rule::l2}}, Mutant::silence_ignored},
        {{"hint_dropped", {Rule::l1}}, Mutant::hint_dropped},
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

bool plant(World&, std::string_view name)
{
    redis::active_mutant = Mutant::none;
    if (name == "none")
        return true;
    auto const found = std::ranges::find(planted(), name, [](Planted const& one) { return one.named.name; });
    if (found == planted().end())
        return false;
    redis::active_mutant = found->mutant;
    return true;
}

} // namespace tenure::simulation
