// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "status/shard_listing.hpp"

#include "keys/holder.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"
#include "output/time_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace tenure::tool
{

namespace
{

/// reasons for which keys could not be read
constexpr std::size_t most_reasons_shown = 5;

boost::json::array json_of(std::vector<std::uint32_t> const& numbers)
{
    boost::json::array array;
    for (auto const number : numbers)
        array.push_back(number);
    return array;
}

} // namespace

ShardListing::ShardListing(SlotListing const& keys)
    : store(keys.store)
    , title(printable(keys.ranges.back()->prefix, 2048))
    , count(keys.ranges.back()->count)
{
    auto const of = [this, &keys](KeyState const& state) -> Member& {
        auto const holder = holder_of(state);
        auto const name = describe(holder);
        auto const known = std::ranges::find(members, name, &Member::holder);
        if (known != members.end())
            return *known;
        auto held_for = state.held_for;
        if (!held_for && holder.claimed_at)
            held_for = std::max(
                std::chrono::floor<std::chrono::milliseconds>(keys.taken_at - *holder.claimed_at),
                std::chrono::milliseconds{0});
        return members.emplace_back(Member{name, holder.note, {}, {}, held_for});
    };
    std::size_t const first_shard = keys.ranges.front()->count;
    for (std::size_t position = 0; position < keys.states.size(); ++position) {
        auto const& state = keys.states[position];
        bool const is_shard = position >= first_shard;
        if (auto const why = keys.unread.find(position); why != keys.unread.end())
            unread.push_back(
                printable(keys.ranges[is_shard ? 1 : 0]->key(state.index)) +
                ": unknown: " + printable(why->second, 2048));
        else if (state.kind != KeyState::Kind::free)
            (is_shard ? of(state).shards : of(state).numbers).push_back(state.index);
        else if (is_shard)
            unowned.push_back(state.index);
    }
    std::ranges::stable_sort(members, {}, [](Member const& member) {
        return std::tuple(member.numbers.empty(), member.numbers.empty() ? 0 : member.numbers.front());
    });
}

std::string spans(std::vector<std::uint32_t> const& numbers)
{
    std::string text;
    for (std::size_t begin = 0; begin < numbers.size();) {
        auto end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
            ++end;
        text += (text.empty() ? "" : ", ") + std::to_string(numbers[begin]);
        if (end - begin > 1)
            text += (end - begin == 2 ? ", " : "-") + std::to_string(numbers[end - 1]);
        begin = end;
    }
    return text.empty() ? "-" : text;
}

std::string as_table(ShardListing const& listing, TableLook look)
{
    auto const members = std::ranges::count_if(listing.members, [](auto const& one) { return !one.numbers.empty(); });
    auto const notes = std::ranges::any_of(listing.members, [](auto const& one) { return !one.note.empty(); });
    std::size_t owned = 0;
    for (auto const& member : listing.members)
        owned += member.shards.size();
    auto const summary = listing.title + " on " + listing.store + ": " + std::to_string(members) +
                         (members == 1 ? " member, " : " members, ") + std::to_string(owned) + " of " +
                         std::to_string(listing.count) + " shards owned";
    auto const width = look.width == 0 ? std::string::npos : look.width;
    auto lines = wrapped(summary, width);
    std::vector<std::string> headings{"MEMBER", "HOLDER", "FOR", "COUNT", "SHARDS"};
    if (notes)
        headings.emplace_back("NOTE");
    Table table(headings, look.color);
    for (auto const& member : listing.members) {
        std::vector<Table::Cell> row{
            {spans(member.numbers), member.numbers.empty() ? Style::caution : Style::plain},
            member.holder,
            member.held_for ? describe(*member.held_for) : "-",
            std::to_string(member.shards.size()),
            spans(member.shards)};
        if (notes)
            row.emplace_back(member.note);
        table.add(std::move(row));
    }
    if (look.width != 0)
        table.fit(look.width, notes ? std::vector<std::size_t>{1, 4, 5} : std::vector<std::size_t>{1, 4}, 12);
    if (!listing.members.empty())
        std::ranges::move(table.lines(), std::back_inserter(lines));
    auto const add = [&](std::string const& text) {
        std::ranges::move(wrapped(text, width), std::back_inserter(lines));
    };
    if (!listing.unowned.empty())
        add("without an owner: " + spans(listing.unowned));
    for (std::size_t i = 0; i < std::min(most_reasons_shown, listing.unread.size()); ++i)
        add(listing.unread[i]);
    if (listing.unread.size() > most_reasons_shown)
        add("and " + std::to_string(listing.unread.size() - most_reasons_shown) + " more");
    return indented(lines, 0);
}

std::string as_json(ShardListing const& listing)
{
    boost::json::array members;
    for (auto const& member : listing.members) {
        boost::json::object one;
        one["holder"] = member.holder;
        if (!member.note.empty())
            one["note"] = member.note;
        one["members"] = json_of(member.numbers);
        one["shards"] = json_of(member.shards);
        if (member.held_for)
            one["held_for_ms"] = member.held_for->count();
        members.push_back(std::move(one));
    }
    boost::json::object object;
    object["store"] = listing.store;
    object["prefix"] = listing.title;
    object["count"] = listing.count;
    object["owners"] = std::move(members);
    object["unowned"] = json_of(listing.unowned);
    boost::json::array unread;
    for (auto const& line : listing.unread)
        unread.emplace_back(line);
    if (!unread.empty())
        object["unread"] = std::move(unread);
    return boost::json::serialize(object) + "\n";
}

} // namespace tenure::tool
