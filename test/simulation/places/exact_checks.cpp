// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What must hold after each operation of a trial beside a model.
#include "exact_trial.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

namespace
{

std::vector<double> numbers_in(std::string_view text)
{
    std::vector<double> numbers;
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(' '));
        double number = -1;
        std::from_chars(word.data(), word.data() + word.size(), number);
        numbers.push_back(number);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return numbers;
}

} // namespace

void ExactTrial::told()
{
    Words heard;
    for (std::string_view rest : server_.told())
        while (!rest.empty()) {
            auto const word = rest.substr(0, rest.find(' '));
            heard.emplace_back(word);
            rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        }
    std::ranges::sort(heard);
    std::ranges::sort(expected_);
    demand(heard == expected_, "a message names other places than those that hold since then");
    outcome.counts["told"] += heard.size();
    expected_.clear();
}

void ExactTrial::look()
{
    auto all = fields();
    if (all.empty()) {
        demand(
            std::ranges::all_of(model_.places, [&](auto const& place) { return place.ends <= clock_; }),
            "S21: all places are gone");
        return;
    }
    auto const head = numbers_in(all["head"]);
    demand(head.size() == 12 && all["mode"] == "line", "S25: the hash has no head");
    if (broken())
        return;
    double held = 0;
    double least = 9007199254740991;
    double waiting = 0;
    double first = head[11];
    std::size_t count = 0;
    std::int64_t last = 0;
    for (auto const& [owner, text] : all) {
        if (owner == "mode" || owner == "head" || owner.starts_with("~"))
            continue;
        auto const place = numbers_in(text);
        ++count;
        bool const holds = place[6] == 0;
        held += holds ? place[3] : 0;
        least = holds ? std::min(least, place[4]) : least;
        waiting += holds ? 0 : 1;
        if (!holds) {
            first = std::min(first, place[6]);
            auto const position = "~" + std::to_string(static_cast<std::int64_t>(place[6]));
            demand(all[position] == owner, "S25: a waiting place has no position");
        }
        demand(head[2] <= place[1], "S25: a place may lapse before it is due");
        demand(head[7] >= place[2], "S25: a ttl is longer than the longest");
        last = std::max(last, static_cast<std::int64_t>(place[1]));
        auto const* const known = model_.find(owner);
        demand(known != nullptr || place[1] <= static_cast<double>(clock_), "S23: a place is left over");
        if (known != nullptr)
            demand(known->holds == holds || is_closed() || lapsed_ahead(), "S19: a place holds against the rule");
    }
    bool const due = head[2] == 0;
    demand(head[0] == held && head[1] == least && head[3] == waiting, "S25: the sums are wrong");
    demand(
        head[8] == static_cast<double>(count) && (waiting == 0 || due || head[10] == first), "S25: the head is wrong");
    // a real server's clock goes on meanwhile
    demand(
        server_.command({"PTTL", std::string(key)}).as_integer() + 2000 >= last - clock_,
        "S21: the key ends too early");
}

bool ExactTrial::lapsed_ahead() const
{
    return std::ranges::any_of(model_.places, [this](auto const& place) { return place.ends <= clock_; });
}

} // namespace tenure::simulation
