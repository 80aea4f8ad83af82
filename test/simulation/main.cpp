// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// simulate [--seeds N] [--from S] [--mutant NAME] [--keep-going] [--trace] [--full] | --hunt | --twice
#include "mutants.hpp"
#include "shrink.hpp"
#include "world.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace
{

using namespace tenure::simulation;

struct Options {
    std::uint64_t seeds = 500;
    std::uint64_t from = 1;
    std::string mutant = "none";
    bool keep_going = false;
    bool trace = false;
    bool full = false;
    bool hunt = false;
    bool twice = false;
};

int usage()
{
    std::cerr << "simulate [--seeds N] [--from S] [--mutant NAME] [--keep-going] [--trace] [--full]\n"
                 "simulate --hunt | --twice [--seeds N] [--from S]\n"
                 "  --seeds N        how many worlds, default 500\n"
                 "  --from S         the first seed, default 1\n"
                 "  --mutant NAME    with this bug planted; `list` names them\n"
                 "  --keep-going     do not stop at the first violation\n"
                 "  --trace          print each seed's trace\n"
                 "  --hunt           plant each mutant in turn, and find it\n"
                 "  --twice          run each seed in two worlds, and compare their traces\n"
                 "  --full           of a violation, print the whole plan and all events too\n";
    return 2;
}

bool number(char const* text, std::uint64_t& value)
{
    auto const* const end = text + std::strlen(text);
    auto const [stop, error] = std::from_chars(text, end, value);
    return error == std::errc() && stop == end;
}

bool parse(std::vector<char const*> const& arguments, Options& options)
{
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        std::string_view const name = arguments[at];
        bool const more = at + 1 < arguments.size();
        if (name == "--keep-going")
            options.keep_going = true;
        else if (name == "--trace")
            options.trace = true;
        else if (name == "--full")
            options.full = true;
        else if (name == "--hunt")
            options.hunt = true;
        else if (name == "--twice")
            options.twice = true;
        else if (name == "--seeds" && more && number(arguments[at + 1], options.seeds))
            ++at;
        else if (name == "--from" && more && number(arguments[at + 1], options.from))
            ++at;
        else if (name == "--mutant" && more)
            options.mutant = arguments[++at];
        else
            return false;
    }
    return true;
}

void notify(World& world, Plan const& plan, Outcome const& outcome, bool full)
{
    auto const& violation = outcome.violation;
    std::cout << "VIOLATION of " << name_of(violation.rule) << " by seed " << plan.seed << " at "
              << static_cast<double>(violation.when) / 1e9 << " s: " << violation.text << "\n";
    if (full)
        std::cout << describe(plan) << world.chronicle.last(world.chronicle.entries().size());
    auto const small = shrink(world, plan, violation.rule);
    auto const again = world.run(small);
    std::cout << "the shortest plan found that does the same (" << small.faults.size() << " of " << plan.faults.size()
              << " faults):\n"
              << describe(small) << world.chronicle.last(60) << "          " << name_of(again.violation.rule) << ": "
              << again.violation.text << "\n";
}

/** Plants each mutant, and looks for the first seed that finds it by a rule that it may break. */
int hunt(World& world, Options const& options)
{
    unsigned missed = 0;
    auto const mutants = all_mutants();
    for (auto const& mutant : mutants) {
        if (!plant(world, mutant.name))
            return 2;
        auto seed = options.from;
        Violation violation;
        for (; seed < options.from + options.seeds && violation.rule == Rule::none; ++seed)
            violation = world.run(make_layer_plan(seed)).violation;
        bool const found = is_one_of(name_of(violation.rule), mutant.rules);
        missed += found ? 0U : 1U;
        std::cout << (found ? "found " : "MISSED ") << mutant.name << " by " << name_of(violation.rule) << ", seed "
                  << seed - 1 << ": " << violation.text << "\n"
                  << std::flush;
    }
    std::cout << mutants.size() << " mutants, " << missed << " missed\n";
    return missed == 0 && !mutants.empty() ? 0 : 1;
}

/** Each seed in a world that has seen others, and in a fresh one: they go the same way. */
int compare(World& world, Options const& options)
{
    unsigned differ = 0;
    for (auto seed = options.from; seed < options.from + options.seeds; ++seed) {
        auto const plan = make_layer_plan(seed);
        World fresh;
        differ += world.run(plan).trace == fresh.run(plan).trace ? 0U : 1U;
    }
    std::cout << options.seeds << " seeds twice, " << differ << " went two ways\n";
    return differ == 0 ? 0 : 1;
}

} // namespace

int main(int count, char** arguments)
{
    Options options;
    if (!parse({arguments + 1, arguments + count}, options))
        return usage();
    if (options.mutant == "list") {
        for (auto const& mutant : all_mutants())
            std::cout << mutant.name << "\n";
        return 0;
    }
    World world;
    if (options.hunt)
        return hunt(world, options);
    if (options.twice)
        return compare(world, options);
    if (!plant(world, options.mutant)) {
        std::cerr << "simulate: no mutant " << options.mutant << " in this build\n";
        return 2;
    }
    auto const start = std::chrono::steady_clock::now();
    std::uint64_t seeds = 0;
    std::uint64_t violations = 0;
    Outcome total;
    for (auto seed = options.from; seed < options.from + options.seeds; ++seed) {
        auto const plan = make_layer_plan(seed);
        auto const outcome = world.run(plan);
        ++seeds;
        total.events += outcome.events;
        total.grants += outcome.grants;
        total.losses += outcome.losses;
        total.faults += outcome.faults;
        if (options.trace)
            std::printf(
                "%llu %016llx\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(outcome.trace));
        if (outcome.violation.rule == Rule::none)
            continue;
        if (++violations == 1 || options.full)
            notify(world, plan, outcome, options.full);
        else
            std::cout << name_of(outcome.violation.rule) << " by seed " << seed << ": " << outcome.violation.text
                      << "\n";
        if (!options.keep_going)
            break;
    }
    auto const passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    auto const average = [&](std::uint64_t sum) { return static_cast<double>(sum) / static_cast<double>(seeds); };
    std::fflush(stdout);
    std::cout << std::flush;
    std::printf(
        "per seed: %.0f events, %.1f grants, %.1f losses, %.1f faults\n%llu seeds, %llu violations, %.1f s\n",
        average(total.events), average(total.grants), average(total.losses), average(total.faults),
        static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(violations), passed);
    return violations == 0 ? 0 : 1;
}
