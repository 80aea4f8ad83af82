// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "gap_search.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace tenure::redis
{

namespace
{

constexpr std::uint32_t part_size = RangeCache::part_size;

/** The questions under way: answered in order, like everything on a connection. */
struct Search {
    NodePtr node;
    std::function<void(std::optional<RangePart>)> handler;
    std::optional<RangePart> found;
    std::size_t unanswered = 0;

    void answered(RangePart part, Outcome const& outcome)
    {
        bool const counted = outcome.reply.is_integer() && outcome.reply.as_integer() >= 0;
        if (outcome.delivery == Delivery::answered && counted && !found && outcome.reply.as_integer() < part.count)
            found = part;
        if (outcome.delivery == Delivery::answered && !counted && !outcome.reply.is_error())
            node->route()->distrust("a reply that makes no sense");
        if (--unanswered == 0)
            handler(found);
    }
};

} // namespace

bool is_worth_a_gap_search(NodePtr const& node, KeyRangePtr const& range)
{
    return range->count > 2 * part_size && page_count(*range) == 1 && node->ranges().notes(range).first_part_was_held;
}

void note_first_free(NodePtr const& node, KeyRangePtr const& range, std::optional<std::uint32_t> index)
{
    if (range->count > 2 * part_size)
        node->ranges().notes(range).first_part_was_held = index && *index >= part_size;
}

void find_gap(
    NodePtr const& node, KeyRangePtr const& range, Deadline not_after,
    std::function<void(std::optional<RangePart>)> handler)
{
    auto const search = std::make_shared<Search>();
    search->node = node;
    search->handler = std::move(handler);
    search->unanswered = (range->count + part_size - 1) / part_size;
    for (std::uint32_t first = 0; first < range->count; first += part_size) {
        RangePart const part{first, std::min(part_size, range->count - first)};
        auto const keys = node->ranges().part(range, first / part_size);
        resp::Command command("EXISTS");
        command.reserve(keys->bytes().size() + 16);
        command.add(*keys);
        if (first + part.count < range->count)
            command.leave_with_next();
        node->route()->execute(
            std::move(command), not_after, [search, part](Outcome outcome) { search->answered(part, outcome); });
    }
}

} // namespace tenure::redis
