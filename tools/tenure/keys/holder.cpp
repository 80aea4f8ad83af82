// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/holder.hpp"

#include "output/table.hpp"
#include "output/text_layout.hpp"
#include "output/time_text.hpp"

#include <tenure/owner.hpp>

#include <algorithm>
#include <chrono>

namespace tenure::tool
{

namespace
{

struct Look {
    std::string_view state;
    Style style;
};

Look look_of(Holder const& holder) noexcept
{
    switch (holder.kind) {
    case Holder::Kind::nobody:
        return {"free", Style::good};
    case Holder::Kind::worker:
        return {"held", Style::plain};
    case Holder::Kind::other_software:
        return {"held", Style::caution};
    case Holder::Kind::evicted:
        return {"evicted", Style::caution};
    case Holder::Kind::resting:
        return {"resting", Style::caution};
    case Holder::Kind::kept:
        return {"kept", Style::caution};
    case Holder::Kind::foreign:
        break;
    }
    return {"foreign", Style::bad};
}

} // namespace

Holder holder_of(KeyState const& state)
{
    if (state.kind == KeyState::Kind::free)
        return {};
    if (state.kind == KeyState::Kind::foreign)
        return {state.remaining ? Holder::Kind::other_software : Holder::Kind::foreign, {}};
    auto const text = read_owner(state.owner);
    if (state.kind == KeyState::Kind::resting || state.kind == KeyState::Kind::kept)
        return {
            state.kind == KeyState::Kind::kept ? Holder::Kind::kept : Holder::Kind::resting,
            text ? printable(text->worker) : std::string()};
    if (text)
        return {Holder::Kind::worker, printable(text->worker), printable(text->note), text->claimed_at};
    constexpr std::string_view evicted = "evicted/";
    if (state.owner.starts_with(evicted))
        return {Holder::Kind::evicted, printable(std::string_view(state.owner).substr(evicted.size()))};
    return {Holder::Kind::other_software, {}};
}

std::string describe(Holder const& holder)
{
    switch (holder.kind) {
    case Holder::Kind::nobody:
        return "-";
    case Holder::Kind::worker:
        return holder.name;
    case Holder::Kind::evicted:
        return "evicted by " + holder.name;
    case Holder::Kind::resting:
    case Holder::Kind::kept:
        return std::string(state_name(holder)) + (holder.name.empty() ? "" : ", last held by " + holder.name);
    case Holder::Kind::other_software:
        return "(other software)";
    case Holder::Kind::foreign:
        break;
    }
    return "(no lease: never expires)";
}

Style style_of(Holder const& holder) noexcept
{
    return look_of(holder).style;
}

std::string_view state_name(Holder const& holder) noexcept
{
    return look_of(holder).state;
}

namespace
{

std::string holding(KeyState const& state)
{
    auto const holder = holder_of(state);
    switch (holder.kind) {
    case Holder::Kind::evicted:
        return describe(holder) + (state.remaining ? ", free in " + describe(*state.remaining) : std::string{});
    case Holder::Kind::resting:
    case Holder::Kind::kept:
        return std::string(state_name(holder)) +
               (state.remaining ? ", free in " + describe(*state.remaining) : std::string{});
    case Holder::Kind::other_software:
        return "by other software" +
               (state.remaining ? ", with " + describe(*state.remaining) + " of its ttl left" : std::string{});
    case Holder::Kind::foreign:
        return "by a value that never expires";
    case Holder::Kind::worker:
    case Holder::Kind::nobody:
        break;
    }
    return "by " + holder.name + (state.held_for ? " for " + describe(*state.held_for) : std::string{});
}

std::string describe_lock(KeyState const& state)
{
    auto const kind = holder_of(state).kind;
    if (kind == Holder::Kind::nobody)
        return "free by now";
    bool const held = kind != Holder::Kind::evicted && kind != Holder::Kind::resting && kind != Holder::Kind::kept;
    auto const holders = std::ranges::count(state.places, true, &Place::holds);
    // the first place is the one that the state itself tells
    auto const others = holders > 1 ? ", and by " + std::to_string(holders - 1) + " more" : std::string();
    return (held ? "held " : "") + holding(state) + others;
}

} // namespace

std::string describe_holders(KeyRange const& range, std::vector<KeyState> const& states)
{
    if (!range.numbered && states.size() == 1)
        return describe_lock(states.front());
    std::vector<KeyState const*> held;
    for (auto const& state : states)
        if (holder_of(state).kind != Holder::Kind::nobody)
            held.push_back(&state);
    std::ranges::stable_sort(held, std::ranges::greater{}, [](KeyState const* state) {
        return state->held_for.value_or(std::chrono::milliseconds{0});
    });
    std::vector<std::string> slots;
    for (auto const* const state : held)
        slots.push_back("slot " + std::to_string(range.first + state->index) + " " + holding(*state));
    return std::to_string(held.size()) + " of " + std::to_string(states.size()) + " held" +
           (held.empty() ? "" : ": " + listed(slots));
}

std::string
describe_holders(std::vector<KeyRangePtr> const& locks, std::vector<KeyState> const& states, std::string_view own_name)
{
    std::vector<std::string> held;
    for (std::size_t index = 0; index < states.size(); ++index) {
        auto const holder = holder_of(states[index]);
        bool const own = holder.kind == Holder::Kind::worker && !own_name.empty() && holder.name == own_name;
        if (holder.kind != Holder::Kind::nobody && !own)
            held.push_back(printable(locks.at(index)->key(0), 256) + " " + describe_lock(states[index]));
    }
    if (held.empty())
        // processes that share a name cannot tell whose a lock is
        return own_name.empty() ? "all free by now" : describe_holders(locks, states, {});
    return listed(held);
}

std::string describe_loss(std::string const& key, KeyState const& state)
{
    auto const name = printable(key, 256);
    auto const holder = holder_of(state);
    switch (holder.kind) {
    case Holder::Kind::evicted:
        return name + " was " + describe(holder);
    case Holder::Kind::worker:
        return name + " is held by " + holder.name + " now: the store let the lease expire, or its key was deleted";
    case Holder::Kind::nobody:
        return name + " is free in the store: its key was deleted, or expired there";
    case Holder::Kind::resting:
        return name + " was released and is in quarantine now: the store let the lease expire, or its key was deleted";
    case Holder::Kind::kept:
        return name + " was left to expire by a later holder: the store let the lease expire, or its key was deleted";
    case Holder::Kind::other_software:
    case Holder::Kind::foreign:
        break;
    }
    return name + " was overwritten by other software";
}

} // namespace tenure::tool
