// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for the replies of scripts and commands.
#include "replies.hpp"

#include "shares/replies.hpp"

#include <config/number_from.hpp>
#include <store/ended_claim.hpp>
#include <tenure/owner.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

namespace tenure::redis
{

namespace
{

using Parts = std::span<resp::Value const>;

/** Reads {-1}, optionally followed by a survey, and then optionally by an error of the line. */
std::optional<PageHeld> read_held(Parts parts, std::uint32_t keys)
{
    if (parts.empty() || !parts[0].is_integer() || parts[0].as_integer() != -1)
        return std::nullopt;
    PageHeld held;
    parts = parts.subspan(1);
    if (parts.size() >= 2) {
        if (!parts[0].is_integer() || !parts[1].is_integer())
            return std::nullopt;
        auto const expiry = parts[0].as_integer();
        auto const foreign = parts[1].as_integer();
        if (expiry < -1 || foreign < 0 || foreign > keys)
            return std::nullopt;
        if (expiry >= 0)
            held.earliest_expiry = at_most_a_year(expiry);
        held.foreign = static_cast<std::uint32_t>(foreign);
        parts = parts.subspan(2);
    }
    if (parts.empty())
        return held;
    if (parts.size() > 1 || !parts[0].is_string() || parts[0].as_string().empty())
        return std::nullopt;
    held.line_error = parts[0].as_string();
    return held;
}

std::optional<PageClosed> read_closed(Parts parts)
{
    bool const is_closed = parts.size() == 2 && parts[0].is_integer() && parts[0].as_integer() == -2 &&
                           parts[1].is_integer() && parts[1].as_integer() > 0;
    return is_closed ? std::optional(PageClosed{at_most_a_year(parts[1].as_integer())}) : std::nullopt;
}

// The script's fields per key: index, value, remaining ms, token.
constexpr std::size_t fields = 4;

/** Computed from the second in which the holder made the claim; its clock may be ahead of the server's. Unset for
 *  owners that tenure did not write. */
std::optional<std::chrono::milliseconds> held_for(std::string_view owner, std::uint64_t now_us)
{
    using std::chrono::milliseconds;
    auto const text = read_owner(owner);
    if (!text || !text->claimed_at)
        return std::nullopt;
    auto const now = milliseconds(static_cast<std::int64_t>(now_us / 1000));
    return std::max(milliseconds(0), now - milliseconds(text->claimed_at->time_since_epoch()));
}

/** Reads a key that is held in places. It is free if all of them have lapsed. */
std::optional<KeyState> read_shared(resp::Value const& list, std::uint64_t now_us)
{
    auto places = read_places(list);
    if (!places)
        return std::nullopt;
    KeyState state;
    if (places->empty())
        return state;
    auto const& first = places->front();
    auto const ended = read_ended_claim(first.owner);
    state.kind = ended ? ended->kind : KeyState::Kind::held;
    state.owner = ended ? ended->last_owner : first.owner;
    state.remaining = first.remaining;
    state.fencing_token = first.fencing_token;
    if (!ended)
        state.held_for = held_for(state.owner, now_us);
    state.places = std::move(*places);
    return state;
}

std::optional<KeyState> read_one(std::span<resp::Value const> parts, std::uint64_t now_us)
{
    auto const& [index, value, left, token] = std::tie(parts[0], parts[1], parts[2], parts[3]);
    if (!index.is_integer() || !left.is_integer() || left.as_integer() < -1)
        return std::nullopt;
    if (value.is_list())
        return read_shared(value, now_us);
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

std::chrono::milliseconds at_most_a_year(std::int64_t ms) noexcept
{
    constexpr std::chrono::milliseconds year = std::chrono::days(365);
    return std::min(std::chrono::milliseconds(ms), year);
}

std::optional<std::uint64_t> read_token(resp::Value const& text)
{
    auto const token = number_from<std::uint64_t>(text.as_string());
    return token == 0U ? std::nullopt : token;
}

std::optional<std::chrono::microseconds> read_server_time(resp::Value const& reply)
{
    auto const parts = reply.elements();
    if (parts.size() != 2)
        return std::nullopt;
    // also representable in nanoseconds
    constexpr std::int64_t latest = 5'000'000'000;
    auto const seconds = number_from<std::int64_t>(parts[0].as_string());
    auto const micros = number_from<std::int64_t>(parts[1].as_string());
    if (!seconds || !micros || *seconds < 0 || *seconds > latest || *micros < 0 || *micros >= 1'000'000)
        return std::nullopt;
    return std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros);
}

std::optional<PageReply> read_page_reply(resp::Value const& reply, std::uint32_t keys, bool fencing)
{
    auto const parts = reply.elements();
    if (parts.empty() || !parts[0].is_integer())
        return std::nullopt;
    auto const index = parts[0].as_integer();
    if (index >= 0) {
        if (index >= keys || parts.size() != 2 || !parts[1].is_string())
            return std::nullopt;
        auto const token = fencing ? read_token(parts[1]) : std::optional<std::uint64_t>(0);
        if (!token)
            return std::nullopt;
        return PageGrant{static_cast<std::uint32_t>(index), *token};
    }
    if (auto const closed = read_closed(parts))
        return *closed;
    if (auto held = read_held(parts, keys))
        return std::move(*held);
    return std::nullopt;
}

std::optional<SharedPageReply>
read_shared_page_reply(resp::Value const& reply, std::uint32_t keys, std::size_t owners, bool fencing)
{
    auto parts = reply.elements();
    if (auto const closed = read_closed(parts))
        return *closed;
    if (parts.empty() || !parts[0].is_string())
        return std::nullopt;
    auto const& token = parts[0];
    SharedPage page;
    for (parts = parts.subspan(1); !parts.empty() && parts[0].is_integer(); parts = parts.subspan(1)) {
        auto const index = parts[0].as_integer();
        if (index == -1)
            break;
        bool const rises = page.granted.empty() || index > page.granted.back();
        if (index < 0 || index >= keys || !rises || page.granted.size() == owners)
            return std::nullopt;
        page.granted.push_back(static_cast<std::uint32_t>(index));
    }
    bool const has_token = fencing && !page.granted.empty();
    if (has_token) {
        auto const number = read_token(token);
        if (!number)
            return std::nullopt;
        page.token = *number;
    } else if (!token.as_string().empty()) {
        return std::nullopt;
    }
    if (page.granted.size() < owners) {
        page.held = read_held(parts, keys);
        if (!page.held)
            return std::nullopt;
    } else if (!parts.empty()) {
        return std::nullopt;
    }
    return page;
}

std::optional<std::string_view> read_renewed_flags(resp::Value const& reply, std::size_t keys)
{
    auto const flags = reply.as_string();
    bool const understood =
        reply.is_string() && flags.size() == keys && flags.find_first_not_of("01") == std::string_view::npos;
    return understood ? std::optional(flags) : std::nullopt;
}

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
