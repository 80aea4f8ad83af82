// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "shrink.hpp"

#include <algorithm>
#include <utility>

namespace tenure::simulation
{

namespace
{

class Shrinker
{
public:
    Shrinker(World& world, Plan plan, Rule rule, unsigned most_runs)
        : world_(world)
        , best_(std::move(plan))
        , rule_(rule)
        , runs_left_(most_runs)
    {
    }

    Plan run()
    {
        bool better = true;
        while (better && runs_left_ > 0) {
            better = fewer_faults();
            better = fewer_workers() || better;
            better = less_noise() || better;
            better = shorter_faults() || better;
        }
        return std::move(best_);
    }

private:
    bool adopt(Plan candidate)
    {
        if (runs_left_ == 0)
            return false;
        --runs_left_;
        auto const outcome = world_.run(candidate);
        if (outcome.violation.rule != rule_)
            return false;
        // events after it do not matter
        candidate.end = outcome.violation.when + millisecond;
        best_ = std::move(candidate);
        return true;
    }

    bool fewer_faults()
    {
        bool better = false;
        for (std::size_t length = std::max<std::size_t>(1, best_.faults.size() / 2); length > 0; length /= 2)
            for (std::size_t first = 0; first < best_.faults.size();) {
                auto candidate = best_;
                auto const from = candidate.faults.begin() + static_cast<std::ptrdiff_t>(first);
                auto const count = std::min(length, candidate.faults.size() - first);
                candidate.faults.erase(from, from + static_cast<std::ptrdiff_t>(count));
                if (adopt(std::move(candidate)))
                    better = true;
                else
                    first += length;
            }
        return better;
    }

    bool fewer_workers()
    {
        bool better = false;
        for (std::uint32_t process = 0; process < best_.settings.processes; ++process)
            for (std::uint32_t worker = 0; worker < best_.settings.workers; ++worker) {
                auto const bit = std::uint64_t{1} << (process * 8 + worker);
                if ((best_.workers & bit) == 0)
                    continue;
                auto candidate = best_;
                candidate.workers &= ~bit;
                better = adopt(std::move(candidate)) || better;
            }
        return better;
    }

    bool less_noise()
    {
        bool better = false;
        for (auto const part : {&Noise::drop, &Noise::repeat, &Noise::hiccup, &Noise::late_timer}) {
            if (best_.settings.noise.*part == 0)
                continue;
            auto candidate = best_;
            candidate.settings.noise.*part = 0;
            better = adopt(std::move(candidate)) || better;
        }
        return better;
    }

    bool shorter_faults()
    {
        bool better = false;
        for (std::size_t index = 0; index < best_.faults.size(); ++index) {
            if (best_.faults[index].length < 20 * millisecond)
                continue;
            auto candidate = best_;
            candidate.faults[index].length /= 2;
            better = adopt(std::move(candidate)) || better;
        }
        return better;
    }

    World& world_;
    Plan best_;
    Rule rule_;
    unsigned runs_left_;
};

} // namespace

Plan shrink(World& world, Plan plan, Rule rule, unsigned most_runs)
{
    return Shrinker(world, std::move(plan), rule, most_runs).run();
}

} // namespace tenure::simulation
