// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "inspect_reply.hpp"

#include "claim_reply.hpp"

#include <store/ended_claim.hpp>
#include <tenure/owner.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenure::redis
{

namespace
{

// What the script tells of one key: index, value, remaining ms, token.
constexpr std::size_t fields = 4;

/** By the second in which the holder made the claim, whose clock may be ahead of the server's. Unset for owners that
 * tenure did not write. */
std::optional<std::chrono::milliseconds> held_for(std::string_view owner, std::uint64_t now_us)
{
    using std::chrono::milliseconds;
    auto const text = read_owner(owner);
    if (!text || !text->claimed_at)
        return std::nullopt;
    auto const now = milliseconds(static_cast<std::int64_t>(now_us / 1000));
    return std::max(milliseconds(0), now - milliseconds(text->claimed_at->time_since_epoch()));
}

std::optional<KeyState> read_one(std::span<resp::Value const> parts, std::uint64_t now_us)
{
    auto const& [index, value, left, token] = std::tie(parts[0], parts[1], parts[2], parts[3]);
    if (!index.is_integer() || !left.is_integer() || left.as_integer() < -1)
        return std::nullopt;
    KeyState state;
    state.kind = KeyState::Kind::held;
    if (left.as_integer() >= 0)
        state.remaining = std::chrono::milliseconds(std::min<std::int64_t>(left.as_integer(), 1'000'000'000'000));
    state.owner = value.as_string();
    if (auto const ended = read_ended_claim(value.as_string())) {
        state.kind = ended->kind;
        state.owner = ended->last_owner;
    }
    if (!value.is_string() || left.as_integer() == -1)
        state.kind = KeyState::Kind::foreign;
    state.fencing_token = read_token(token).value_or(0);
    if (state.kind == KeyState::Kind::held)
        state.held_for = held_for(state.owner, now_us);
    return state;
}

} // namespace

bool read_key_states(resp::Value const& reply, std::uint32_t count, std::vector<KeyState>& states)
{
    auto const parts = reply.elements();
    auto const now_us = parts.empty() ? std::nullopt : read_token(parts[0]);
    if (!now_us || (parts.size() - 1) % fields != 0)
        return false;
    auto const first = static_cast<std::uint32_t>(states.size());
    std::vector<KeyState> page(count);
    for (std::uint32_t i = 0; i < count; ++i)
        page[i].index = first + i;
    for (std::size_t at = 1; at < parts.size(); at += fields) {
        auto state = read_one(parts.subspan(at, fields), *now_us);
        auto const index = parts[at].as_integer();
        if (!state || index < 0 || index >= count)
            return false;
        state->index = first + static_cast<std::uint32_t>(index);
        page[static_cast<std::size_t>(index)] = std::move(*state);
    }
    std::move(page.begin(), page.end(), std::back_inserter(states));
    return true;
}

} // namespace tenure::redis
