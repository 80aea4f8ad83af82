// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim_reply.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace tenure::redis
{

namespace
{

// No ttl that leases use comes near it; it keeps the arithmetic with instants in range.
constexpr std::int64_t max_expiry_ms = std::int64_t{1000} * 60 * 60 * 24 * 365;

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
    auto const at_most_a_year = [](std::int64_t ms) { return std::chrono::milliseconds(std::min(ms, max_expiry_ms)); };
    if (index == -2 && parts.size() == 2 && parts[1].is_integer() && parts[1].as_integer() > 0)
        return PageClosed{at_most_a_year(parts[1].as_integer())};
    if (index != -1)
        return std::nullopt;
    PageHeld held;
    if (parts.size() == 1)
        return held;
    if (parts.size() != 3 || !parts[1].is_integer() || !parts[2].is_integer())
        return std::nullopt;
    auto const expiry = parts[1].as_integer();
    auto const foreign = parts[2].as_integer();
    if (expiry < -1 || foreign < 0 || foreign > keys)
        return std::nullopt;
    if (expiry >= 0)
        held.earliest_expiry = at_most_a_year(expiry);
    held.foreign = static_cast<std::uint32_t>(foreign);
    return held;
}

} // namespace tenure::redis
