// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "marks.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <tuple>
#include <vector>

namespace tenure::contention
{

Verdict judge(std::string const& marks)
{
    // of one instant, those that leave come first
    std::vector<std::tuple<std::int64_t, bool, std::string, bool>> events;
    std::ifstream file(marks);
    std::string name;
    std::string what;
    std::int64_t when = 0;
    for (bool shares = false; file >> name >> what >> when >> shares;)
        events.emplace_back(when, what == "in", name, shares);
    std::ranges::sort(events);

    Verdict verdict;
    std::map<std::string, bool> inside;
    for (auto const& [instant, enters, who, shares] : events) {
        if (!enters) {
            inside.erase(who);
            continue;
        }
        ++verdict.grants[who];
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
