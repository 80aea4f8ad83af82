// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim_reply.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <system_error>
#include <utility>

namespace tenure::redis
{

namespace
{

// No ttl that leases use comes near it; it keeps the arithmetic with instants in range.
constexpr std::int64_t max_expiry_ms = std::int64_t{1000} * 60 * 60 * 24 * 365;

std::chrono::milliseconds at_most_a_year(std::int64_t ms)
{
    return std::chrono::milliseconds(std::min(ms, max_expiry_ms));
}

using Parts = std::span<resp::Value const>;

/** {-1}, with a survey behind it or not, and behind that an error of the line or not. */
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

} // namespace

std::optional<std::uint64_t> read_token(resp::Value const& text)
{
    auto const digits = text.as_string();
    std::uint64_t token = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token);
    if (error != std::errc{} || end != digits.data() + digits.size() || token == 0)
        return std::nullopt;
    return token;
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

} // namespace tenure::redis
