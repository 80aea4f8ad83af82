// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/holder.hpp"

#include "output/table.hpp"

#include <tenure/owner.hpp>

#include <string_view>

namespace tenure::tool
{

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
    switch (holder.kind) {
    case Holder::Kind::nobody:
        return Style::good;
    case Holder::Kind::worker:
        return Style::plain;
    case Holder::Kind::evicted:
    case Holder::Kind::resting:
    case Holder::Kind::kept:
    case Holder::Kind::other_software:
        return Style::caution;
    case Holder::Kind::foreign:
        break;
    }
    return Style::bad;
}

std::string_view state_name(Holder const& holder) noexcept
{
    switch (holder.kind) {
    case Holder::Kind::nobody:
        return "free";
    case Holder::Kind::worker:
    case Holder::Kind::other_software:
        return "held";
    case Holder::Kind::evicted:
        return "evicted";
    case Holder::Kind::resting:
        return "resting";
    case Holder::Kind::kept:
        return "kept";
    case Holder::Kind::foreign:
        break;
    }
    return "foreign";
}

} // namespace tenure::tool
