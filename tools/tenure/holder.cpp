// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "holder.hpp"

#include "table.hpp"

namespace tenure::tool
{

namespace
{

/** True for the second part of an owner that tenure writes: 128 random bits as hexadecimal digits. */
bool is_random_part(std::string_view text) noexcept
{
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

} // namespace

Holder holder_of(KeyState const& state)
{
    if (state.kind == KeyState::Kind::free)
        return {};
    if (state.kind == KeyState::Kind::foreign)
        return {state.remaining ? Holder::Kind::other_software : Holder::Kind::foreign, {}};
    auto const owner = std::string_view(state.owner);
    auto const slash = owner.find('/');
    bool const is_worker = slash != std::string_view::npos && is_random_part(owner.substr(slash + 1));
    if (state.kind == KeyState::Kind::resting)
        return {Holder::Kind::resting, is_worker ? printable(owner.substr(0, slash)) : std::string()};
    if (is_worker)
        return {Holder::Kind::worker, printable(owner.substr(0, slash))};
    if (owner.starts_with("evicted/"))
        return {Holder::Kind::evicted, printable(owner.substr(slash + 1))};
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
        return holder.name.empty() ? "resting" : "resting, last held by " + holder.name;
    case Holder::Kind::other_software:
        return "(other software)";
    case Holder::Kind::foreign:
        break;
    }
    return "(no lease: never expires)";
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
    case Holder::Kind::foreign:
        break;
    }
    return "foreign";
}

} // namespace tenure::tool
