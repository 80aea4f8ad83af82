// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/holders_text.hpp"

#include "keys/holder.hpp"
#include "output/duration.hpp"
#include "output/name_list.hpp"
#include "output/table.hpp"

#include <algorithm>
#include <chrono>

namespace tenure::tool
{

namespace
{

std::string holding(KeyState const& state)
{
    auto const holder = holder_of(state);
    switch (holder.kind) {
    case Holder::Kind::evicted:
        return describe(holder) + (state.remaining ? ", frees in " + describe(*state.remaining) : std::string{});
    case Holder::Kind::resting:
    case Holder::Kind::kept:
        return std::string(state_name(holder)) +
               (state.remaining ? ", frees in " + describe(*state.remaining) : std::string{});
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
    return (held ? "held " : "") + holding(state);
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
