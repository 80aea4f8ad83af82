// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// simulate_LAYER [--seeds N] [--from S] [--mutant NAME] [--twice] | --hunt
#include "small_world.hpp"

#include "mutants/mutants.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <span>
#include <string_view>

namespace
{

using namespace tenure;

struct Options {
    std::uint64_t seeds = 500;
    std::uint64_t from = 1;
    std::string_view mutant = "none";
    bool twice = false;
    bool hunt = false;
};

bool parse(std::span<char*> arguments, Options& options)
{
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        std::string_view const name = arguments[at];
        std::string_view const value = at + 1 < arguments.size() ? arguments[at + 1] : "";
        if (name == "--twice")
            options.twice = true;
        else if (name == "--hunt")
            options.hunt = true;
        else if (name == "--mutant" && !value.empty()) {
            options.mutant = value;
            ++at;
        } else if (name == "--seeds" || name == "--from") {
            auto& number = name == "--seeds" ? options.seeds : options.from;
            if (std::from_chars(value.data(), value.data() + value.size(), number).ec != std::errc() || value.empty())
                return false;
            ++at;
        } else {
            return false;
        }
    }
    return true;
}

/** Bugs of other layers are planted where this program never comes. */
bool plant(std::string_view name)
{
    auto const is_ours = [name](mutants::Mutant const& mutant) {
        return mutant.name == name && mutant.layer == simulation::small_layer.name;
    };
    return (name == "none" || std::ranges::any_of(mutants::all(), is_ours)) && mutants::activate(name);
}

/** Runs the seeds until one breaks a rule. @returns that one, or 0 */
std::uint64_t run(Options const& options, bool tell)
{
    std::map<std::string_view, std::uint64_t> sum;
    auto const begin = std::chrono::steady_clock::now();
    std::uint64_t broken = 0;
    std::uint64_t done = 0;
    for (auto seed = options.from; seed < options.from + options.seeds && broken == 0; ++seed, ++done) {
        auto const outcome = simulation::small_layer.run(seed);
        if (options.twice && simulation::small_layer.run(seed).trace != outcome.trace) {
            std::printf("seed %llu: went another way the second time\n", static_cast<unsigned long long>(seed));
            broken = seed;
        }
        if (!outcome.violation.empty()) {
            broken = seed;
            if (tell)
                std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), outcome.violation.c_str());
        }
        for (auto const& [what, count] : outcome.counts)
            sum[what] += count;
    }
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (tell) {
        std::printf("per seed:");
        for (auto const& [what, count] : sum)
            std::printf(
                " %.1f %.*s", static_cast<double>(count) / static_cast<double>(done), static_cast<int>(what.size()),
                what.data());
        std::printf("\n");
        std::printf(
            "%llu seeds, %d violations, %.1f s\n", static_cast<unsigned long long>(done), broken == 0 ? 0 : 1, seconds);
    }
    return broken;
}

int hunt(Options options)
{
    int missed = 0;
    int hunted = 0;
    for (auto const& mutant : mutants::all()) {
        if (mutant.layer != simulation::small_layer.name)
            continue;
        ++hunted;
        static_cast<void>(mutants::activate(mutant.name));
        auto const seed = run(options, false);
        std::printf(
            "%-24s %s %llu\n", std::string(mutant.name).c_str(), seed == 0 ? "not found within" : "found by seed",
            static_cast<unsigned long long>(seed == 0 ? options.seeds : seed));
        missed += seed == 0 ? 1 : 0;
    }
    std::printf("%d mutants, %d missed\n", hunted, missed);
    return hunted > 0 && missed == 0 ? 0 : 1;
}

} // namespace

int main(int count, char** arguments)
{
    Options options;
    if (!parse(std::span(arguments + 1, static_cast<std::size_t>(count - 1)), options)) {
        std::cerr << "simulate_" << simulation::small_layer.name
                  << " [--seeds N] [--from S] [--mutant NAME] [--twice] | --hunt\n";
        return 2;
    }
    if (options.hunt)
        return hunt(options);
    if (plant(options.mutant))
        return run(options, true) == 0 ? 0 : 1;
    std::cerr << "no such bug can be planted here: " << options.mutant << "\n";
    return 2;
}
