// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/picture.hpp"

#include "output/text_layout.hpp"

#include <algorithm>
#include <utility>

namespace tenure::tool
{

namespace
{

constexpr std::size_t gap_between_tables = 6;
/// width before an event's text: six columns of time, and two blanks
constexpr std::size_t time_width = 8;
/// old events go before the tables lose rows, but not all
constexpr std::size_t least_events = 4;

/** One table above the other, in as many rows as there are. */
std::vector<std::string> stacked(DemoPicture const& picture, std::size_t rows)
{
    auto const all = picture.slots.size() + 1 + picture.workers.size();
    // a low screen is shared: each table gets half, and what the other leaves
    auto const half = (std::max<std::size_t>(rows, 1) - 1) / 2;
    auto const for_slots =
        all <= rows ? picture.slots.size() : std::max(half, rows - std::min(rows, 1 + picture.workers.size()));
    auto result = fitted(picture.slots, for_slots);
    result.emplace_back();
    auto const workers = fitted(picture.workers, rows - std::min(rows, result.size()));
    result.insert(result.end(), workers.begin(), workers.end());
    return result;
}

} // namespace

std::vector<std::string> lines_of_events(std::vector<std::string> const& events, std::size_t width)
{
    std::vector<std::string> result;
    for (auto const& event : events) {
        auto const time = event.substr(0, std::min(event.size(), time_width));
        auto const text = wrapped(event.substr(time.size()), std::max(width, 2 * time_width) - time_width);
        for (auto const& line : text)
            result.push_back((&line == &text.front() ? time : std::string(time_width, ' ')) + line);
    }
    return result;
}

std::vector<std::string> arranged(DemoPicture const& picture, ScreenSize size)
{
    auto const events = lines_of_events(picture.events, size.columns);
    bool const wide = widest(picture.slots) + gap_between_tables + widest(picture.workers) <= size.columns;
    auto const tables_want = wide ? std::max(picture.slots.size(), picture.workers.size())
                                  : picture.slots.size() + 1 + picture.workers.size();
    // the title and two empty lines
    auto const rows = std::max<std::size_t>(size.rows, 3) - 3;
    auto const for_events =
        std::min(events.size(), std::max(rows - std::min(rows, tables_want), std::min(least_events, rows / 2)));
    auto const for_tables = rows - for_events;
    std::vector<std::string> lines = {picture.title, ""};
    auto tables =
        wide ? beside(fitted(picture.slots, for_tables), fitted(picture.workers, for_tables), gap_between_tables)
             : stacked(picture, for_tables);
    lines.insert(lines.end(), tables.begin(), tables.end());
    lines.emplace_back();
    lines.insert(lines.end(), events.end() - static_cast<std::ptrdiff_t>(for_events), events.end());
    return fitted(std::move(lines), size.rows);
}

} // namespace tenure::tool
