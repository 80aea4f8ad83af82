// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "marks.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

namespace tenure::contention
{

Verdict judge(std::string const& marks)
{
    // of one instant, those that leave come first
    std::vector<std::tuple<std::int64_t, bool, std::string, bool, std::uint64_t>> events;
    std::ifstream file(marks);
    for (std::string text; std::getline(file, text);) {
        std::istringstream line(text);
        std::string name;
        std::string what;
        std::int64_t when = 0;
        bool shares = false;
        std::uint64_t token = 0;
        if (line >> name >> what >> when >> shares) {
            line >> token;
            events.emplace_back(when, what == "in", name, shares, token);
        }
    }
    std::ranges::sort(events);

    Verdict verdict;
    std::map<std::string, bool> inside;
    std::uint64_t last_token = 0;
    for (auto const& [instant, enters, who, shares, token] : events) {
        if (!enters) {
            inside.erase(who);
            continue;
        }
        ++verdict.grants[who];
        if (token != 0 && token <= std::exchange(last_token, std::max(token, last_token)))
            ++verdict.tokens_out_of_order;
        bool const readers = shares && std::ranges::all_of(inside, [](auto const& one) { return one.second; });
        if (!inside.empty() && readers) {
            ++verdict.readers_together;
        } else if (!inside.empty()) {
            if (++verdict.double_holdings <= 5)
                verdict.examples += who + " entered beside " + inside.begin()->first + "\n";
        }
        inside[who] = shares;
    }
    return verdict;
}

} // namespace tenure::contention
