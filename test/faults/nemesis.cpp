// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "nemesis.hpp"

#include "harness/auditor.hpp"

#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

Nemesis::Nemesis(std::vector<Disturbance> disturbances, Attack& attack, std::function<bool()> go_on)
    : disturbances_(std::move(disturbances))
    , attack_(attack)
    , go_on_(std::move(go_on))
{
}

void Nemesis::run()
{
    auto const ns = [](auto time) { return std::chrono::nanoseconds{time}.count(); };
    while (go_on_()) {
        auto const next = boottime_ns() + ns(attack_.random.between(2000ms, 5000ms));
        if (next > attack_.end)
            return;
        strike();
        // After a long disturbance the next one follows with almost no pause.
        do
            attack_.wait(200ms);
        while (go_on_() && boottime_ns() < next);
    }
}

void Nemesis::strike()
{
    for (std::size_t tries = 0; tries < 20; ++tries) {
        if (deck_.empty())
            shuffle();
        auto const chosen = deck_.back();
        deck_.pop_back();
        if (disturbances_[chosen].strike(attack_))
            return;
    }
}

void Nemesis::shuffle()
{
    for (std::size_t number = 0; number < disturbances_.size(); ++number)
        deck_.insert(deck_.end(), disturbances_[number].often, number);
    attack_.random.shuffle(deck_);
}

} // namespace tenure::faults
