// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "status/slot_listing.hpp"

#include "keys/holder.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"
#include "output/time_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace
{

/// beyond that, a table of mostly free slots hides the others
constexpr std::ptrdiff_t most_free_shown = 32;
constexpr std::size_t most_unread_shown = 5;
/// of a key that is held in places
constexpr std::size_t most_holders_shown = 32;
constexpr std::size_t most_waiting_shown = 3;

/** How long it has been held: what the store knows, else what the holder wrote, whose clock may be wrong. */
std::optional<std::chrono::milliseconds>
held_for(SlotListing const& listing, KeyState const& state, Holder const& holder)
{
    if (state.held_for || !holder.claimed_at)
        return state.held_for;
    auto const since_claim = std::chrono::floor<std::chrono::milliseconds>(listing.taken_at - *holder.claimed_at);
    return std::max(since_claim, std::chrono::milliseconds{0});
}

std::string since(SlotListing const& listing, std::optional<std::chrono::milliseconds> const& held)
{
    return held ? local_time(listing.taken_at - *held, *held > std::chrono::hours{20}) : "-";
}

std::string or_dash(std::optional<std::chrono::milliseconds> const& duration)
{
    return duration ? describe(*duration) : "-";
}

/** A place as the state of a key that has only this one. */
KeyState state_of(Place const& place)
{
    KeyState state;
    state.kind = KeyState::Kind::held;
    state.owner = place.owner;
    state.remaining = place.remaining;
    state.fencing_token = place.fencing_token;
    return state;
}

std::size_t waiting_at(KeyState const& state)
{
    return static_cast<std::size_t>(std::ranges::count(state.places, false, &Place::holds));
}

/** Whether the key is taken without a holder. */
bool is_nobodys(Holder const& holder) noexcept
{
    return holder.kind == Holder::Kind::resting || holder.kind == Holder::Kind::kept;
}

/** The text of the column of holders. */
std::string holder_text(SlotListing const& listing, std::size_t position)
{
    if (listing.unread.contains(position))
        return "unknown: see below";
    auto const& state = listing.states[position];
    if (state.kind == KeyState::Kind::free)
        return "free";
    auto const holder = holder_of(state);
    if (!is_nobodys(holder) || !state.remaining)
        return describe(holder);
    auto const until = local_time(listing.taken_at + *state.remaining, *state.remaining > std::chrono::hours{20});
    return std::string(state_name(holder)) + " until " + until +
           (holder.name.empty() ? "" : ", last held by " + holder.name);
}

std::ptrdiff_t count_of(SlotListing const& listing, KeyState::Kind kind)
{
    std::ptrdiff_t count = 0;
    for (std::size_t position = 0; position < listing.states.size(); ++position)
        if (listing.states[position].kind == kind && !listing.unread.contains(position))
            ++count;
    return count;
}

bool is_pool(SlotListing const& listing)
{
    return !listing.ranges.empty() && listing.ranges.front()->numbered;
}

/** The number of a slot, or the key of a lock. @param position  among the states */
std::string name_of(SlotListing const& listing, std::size_t position)
{
    return is_pool(listing) ? std::to_string(listing.ranges.front()->first + listing.states[position].index)
                            : listing.ranges[position]->key(0);
}

std::string describe_ranges(SlotListing const& listing)
{
    if (!listing.title.empty())
        return listing.title;
    std::vector<std::string> ranges;
    for (auto const& range : listing.ranges)
        ranges.push_back(printable(range->describe(), 2048));
    return joined(ranges, ", ");
}

/** Why the store could not tell of keys: the first ones, and the number of the others. */
std::vector<std::string> unread_lines(SlotListing const& listing)
{
    std::vector<std::string> lines;
    for (auto const& [position, why] : listing.unread) {
        if (lines.size() == most_unread_shown) {
            lines.push_back("and " + std::to_string(listing.unread.size() - lines.size()) + " more");
            break;
        }
        lines.push_back(printable(name_of(listing, position)) + ": unknown: " + printable(why, 2048));
    }
    return lines;
}

/** Adds when and for how long the holder has had it, and for how long the store keeps it. */
void add_times(boost::json::object& object, SlotListing const& listing, KeyState const& state, Holder const& holder)
{
    if (auto const held = held_for(listing, state, holder)) {
        object["since"] = utc_time(listing.taken_at - *held);
        object["held_for_ms"] = held->count();
    }
    if (state.remaining && holder.kind != Holder::Kind::nobody)
        object["remaining_ms"] = state.remaining->count();
    if (state.fencing_token != 0)
        object["fencing_token"] = std::to_string(state.fencing_token);
}

boost::json::object json_of(SlotListing const& listing, Place const& place)
{
    auto const state = state_of(place);
    auto const holder = holder_of(state);
    boost::json::object object;
    object["state"] = place.holds ? "held" : "waiting";
    if (holder.kind == Holder::Kind::worker)
        object["worker"] = holder.name;
    if (!holder.note.empty())
        object["note"] = holder.note;
    object["weight"] = place.weight;
    object["capacity"] = place.capacity;
    add_times(object, listing, state, holder);
    return object;
}

boost::json::object json_of(SlotListing const& listing, std::size_t position)
{
    auto const& state = listing.states[position];
    auto const holder = holder_of(state);
    boost::json::object object;
    if (is_pool(listing))
        object["slot"] = listing.ranges.front()->first + state.index;
    object["key"] =
        printable(is_pool(listing) ? listing.ranges.front()->key(state.index) : name_of(listing, position), 2048);
    if (auto const why = listing.unread.find(position); why != listing.unread.end()) {
        object["state"] = "unknown";
        object["why"] = printable(why->second, 2048);
        return object;
    }
    object["state"] = state_name(holder);
    if (holder.kind == Holder::Kind::worker)
        object["worker"] = holder.name;
    if (!holder.note.empty())
        object["note"] = holder.note;
    if (holder.kind == Holder::Kind::evicted)
        object["evicted_by"] = holder.name;
    if (is_nobodys(holder)) {
        if (!holder.name.empty())
            object["last_worker"] = holder.name;
        if (state.remaining)
            object["until"] = utc_time(listing.taken_at + *state.remaining);
    }
    add_times(object, listing, state, holder);
    if (!state.places.empty()) {
        boost::json::array places;
        for (auto const& place : state.places)
            places.push_back(json_of(listing, place));
        object["places"] = std::move(places);
    }
    return object;
}

/** The line above the table. */
std::string summary(SlotListing const& listing)
{
    auto const free = count_of(listing, KeyState::Kind::free);
    auto const resting = count_of(listing, KeyState::Kind::resting);
    auto const kept = count_of(listing, KeyState::Kind::kept);
    auto const total = std::ssize(listing.states);
    auto const unread = std::ssize(listing.unread);
    std::size_t waiting = 0;
    for (auto const& state : listing.states)
        waiting += waiting_at(state);
    return describe_ranges(listing) + " on " + listing.store + ": " +
           std::to_string(total - free - resting - kept - unread) + " of " + std::to_string(total) + " held" +
           (resting > 0 ? ", " + std::to_string(resting) + " resting" : "") +
           (kept > 0 ? ", " + std::to_string(kept) + " kept" : "") +
           (waiting > 0 ? ", " + std::to_string(waiting) + " waiting" : "") +
           (unread > 0 ? ", " + std::to_string(unread) + " unknown" : "");
}

/** The columns of a table. */
struct Columns {
    static constexpr std::size_t name = 0;
    static constexpr std::size_t holder = 1;
    static constexpr std::size_t since = 2;
    /// of a table that shows them
    bool tokens;
    bool notes;

    [[nodiscard]] std::vector<std::string> headings(std::string const& first) const
    {
        std::vector<std::string> headings{first, "HOLDER", "SINCE", "FOR", "TTL LEFT"};
        if (tokens)
            headings.emplace_back("TOKEN");
        if (notes)
            headings.emplace_back("NOTE");
        return headings;
    }
    /** Columns of names and notes, which may be long. */
    [[nodiscard]] std::vector<std::size_t> flexible() const
    {
        std::vector<std::size_t> columns{name, holder};
        if (notes)
            columns.push_back(headings({}).size() - 1);
        return columns;
    }
};

std::vector<Table::Cell> row_of(SlotListing const& listing, std::size_t position, Columns const& columns)
{
    auto const& state = listing.states[position];
    auto const holder = holder_of(state);
    auto const duration = held_for(listing, state, holder);
    std::vector<Table::Cell> row{
        printable(name_of(listing, position), 256),
        {holder_text(listing, position), listing.unread.contains(position) ? Style::bad : style_of(holder)},
        since(listing, duration),
        or_dash(duration),
        state.kind != KeyState::Kind::free ? or_dash(state.remaining) : "-"};
    if (columns.tokens)
        row.emplace_back(state.fencing_token != 0 ? std::to_string(state.fencing_token) : "-");
    if (columns.notes)
        row.emplace_back(holder.note);
    return row;
}

/** The rows of a key that is held in places: its holders, and the first ones that wait.
 *  @param all  also holders beyond `most_holders_shown` */
void add_places(Table& table, SlotListing const& listing, std::size_t position, Columns const& columns, bool all)
{
    auto const& places = listing.states[position].places;
    auto const waiting = waiting_at(listing.states[position]);
    auto const holding = places.size() - waiting;
    std::size_t held = 0;
    std::size_t waits = 0;
    auto more = [&](std::size_t count, char const* what) {
        std::vector<Table::Cell> row(columns.headings({}).size(), "-");
        row[Columns::name] = printable(name_of(listing, position), 256);
        row[Columns::holder] = "... " + std::to_string(count) + " more " + what;
        table.add(std::move(row));
    };
    for (auto const& place : places) {
        if (place.holds ? !all && held == most_holders_shown : waits == most_waiting_shown)
            continue;
        ++(place.holds ? held : waits);
        SlotListing const one{listing.store, {listing.ranges[position]}, {state_of(place)}, listing.taken_at, {}, {}};
        auto row = row_of(one, 0, columns);
        auto& holder = row[Columns::holder].text;
        if (place.weight > 1 && place.weight < place.capacity)
            holder += " (" + std::to_string(place.weight) + " of " + std::to_string(place.capacity) + ")";
        if (!place.holds)
            row[Columns::holder] = {"waiting: " + holder, Style::caution};
        table.add(std::move(row));
        if (place.holds && held == most_holders_shown && !all && holding > held)
            more(holding - held, "hold it");
    }
    if (waiting > waits)
        more(waiting - waits, "wait");
}

/** Shortens names, and leaves columns out if that is not enough: the instant first, and never the durations. */
void fit(Table& table, Columns columns, std::size_t width)
{
    constexpr std::size_t readable = 24;
    constexpr std::size_t least = 6;
    if (width == 0 || table.fit(width, columns.flexible(), readable))
        return;
    table.drop(Columns::since);
    auto const fits = [&](std::size_t narrowest) {
        auto flexible = columns.flexible();
        if (columns.notes)
            --flexible.back();
        return table.fit(width, flexible, narrowest);
    };
    // a column behind the durations
    auto const leave_out = [&](bool& shown) {
        if (std::exchange(shown, false))
            table.drop(columns.headings({}).size() - 1);
    };
    if (fits(readable) || fits(least))
        return;
    leave_out(columns.notes);
    if (fits(least))
        return;
    leave_out(columns.tokens);
    static_cast<void>(fits(least));
}

} // namespace

std::vector<std::string> summary_lines(SlotListing const& listing, std::size_t width)
{
    return wrapped(summary(listing), width == 0 ? std::string::npos : width);
}

std::vector<std::string> table_lines(SlotListing const& listing, TableLook look)
{
    auto const free = count_of(listing, KeyState::Kind::free);
    auto const show_free = look.all || free <= most_free_shown;
    auto const any = [&](auto const& has) { return std::ranges::any_of(listing.states, has); };
    Columns const columns{
        .tokens = any([](KeyState const& state) { return state.fencing_token != 0; }),
        .notes = any([](KeyState const& state) {
            return !holder_of(state).note.empty() || std::ranges::any_of(state.places, [](Place const& place) {
                return !holder_of(state_of(place)).note.empty();
            });
        })};
    Table table(columns.headings(is_pool(listing) ? "SLOT" : listing.title.empty() ? "LOCK" : "KEY"), look.color);
    bool empty = true;
    for (std::size_t position = 0; position < listing.states.size(); ++position) {
        bool const is_free =
            listing.states[position].kind == KeyState::Kind::free && !listing.unread.contains(position);
        if (is_free && !show_free)
            continue;
        if (listing.states[position].places.empty())
            table.add(row_of(listing, position, columns));
        else
            add_places(table, listing, position, columns, look.all);
        empty = false;
    }
    fit(table, columns, look.width);
    auto lines = summary_lines(listing, look.width);
    if (!empty)
        std::ranges::move(table.lines(), std::back_inserter(lines));
    if (!show_free)
        lines.push_back(std::to_string(free) + " free slots are not shown: --all shows them");
    for (auto const& text : unread_lines(listing))
        std::ranges::move(wrapped(text, look.width == 0 ? std::string::npos : look.width), std::back_inserter(lines));
    return lines;
}

std::string as_table(SlotListing const& listing, TableLook look)
{
    return indented(table_lines(listing, look), 0);
}

boost::json::object json_of(SlotListing const& listing)
{
    boost::json::array keys;
    for (std::size_t position = 0; position < listing.states.size(); ++position)
        keys.push_back(json_of(listing, position));
    auto const resting = count_of(listing, KeyState::Kind::resting);
    auto const kept = count_of(listing, KeyState::Kind::kept);
    boost::json::object object;
    object["store"] = listing.store;
    object["range"] = describe_ranges(listing);
    object["taken_at"] = utc_time(listing.taken_at);
    object["count"] = listing.states.size();
    auto const unread = std::ssize(listing.unread);
    object["held"] = std::ssize(listing.states) - count_of(listing, KeyState::Kind::free) - resting - kept - unread;
    object["resting"] = resting;
    object["kept"] = kept;
    if (unread > 0)
        object["unknown"] = unread;
    object["keys"] = std::move(keys);
    return object;
}

std::string as_json(SlotListing const& listing)
{
    return boost::json::serialize(json_of(listing)) + "\n";
}

} // namespace tenure::tool
