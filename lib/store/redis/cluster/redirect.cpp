// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Redirects: parsing, and the rules for following them.
#include "redirect.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// A slot with a few keys migrates within milliseconds, a failover takes seconds.
constexpr std::chrono::nanoseconds first_pause = 10ms;
constexpr std::chrono::nanoseconds longest_pause = 250ms;

constexpr std::string_view stuck_word = "REDIRECTED";
constexpr std::string_view migrating_word = "MIGRATING";

bool mentions_text(std::string_view text, std::string_view part) noexcept
{
    return text.find(part) != std::string_view::npos;
}

/// "3999 127.0.0.1:6381"; a malformed address stays empty, and the map is refreshed
Redirect with_address(Redirect::Kind kind, std::string_view text, ServerAddress const& asked)
{
    Redirect redirect{kind, 0, {}};
    auto const slot = number_from<std::uint32_t>(text.substr(0, text.find(' ')));
    auto const where = text.substr(std::min(text.find(' '), text.size() - 1) + 1);
    auto const colon = where.rfind(':');
    if (!slot || *slot >= hash_slot_count || colon == std::string_view::npos)
        return redirect;
    redirect.slot = static_cast<HashSlot>(*slot);
    auto const port = number_from<std::uint16_t>(where.substr(colon + 1));
    auto const host = where.substr(0, colon);
    if (port && *port != 0 && (host.empty() || may_be_host(host)))
        redirect.address = {host.empty() ? asked.host : std::string(host), *port};
    return redirect;
}

} // namespace

std::optional<Redirect> read_redirect(resp::Value const& reply, ServerAddress const& asked)
{
    if (!reply.is_error())
        return std::nullopt;
    auto const text = reply.as_string();
    auto const word = reply.error_word();
    auto const rest = text.substr(std::min(word.size() + 1, text.size()));
    if (word == "MOVED" && !rest.empty())
        return with_address(Redirect::Kind::moved, rest, asked);
    if (word == "ASK" && !rest.empty())
        return with_address(Redirect::Kind::ask, rest, asked);
    // the script runs on a node whose key has migrated: the counter of tokens migrates separately
    if (word == "TRYAGAIN" || mentions_text(text, "attempted to access a non local key"))
        return Redirect{Redirect::Kind::try_again, 0, {}};
    if (word == "CLUSTERDOWN" || mentions_text(text, "command while the cluster is down"))
        return Redirect{Redirect::Kind::down, 0, {}};
    return std::nullopt;
}

RedirectRules::RedirectRules(Migration migration, Instant not_after, std::function<std::uint64_t()> random)
    : migration_(migration)
    , not_after_(not_after)
    , random_(std::move(random))
{
}

RedirectRules::Decision RedirectRules::redirected(Redirect const& redirect, Instant now)
{
    bool const waits = migration_ == Migration::wait;
    switch (redirect.kind) {
    case Redirect::Kind::moved:
        if (++redirects_ > budget)
            return GiveUp{};
        // the first redirect is news; nodes that redirect back and forth do not agree yet
        if (redirects_ == 1 && !redirect.address.host.empty())
            return Send{};
        return pause(now);
    case Redirect::Kind::ask:
        if (migration_ == Migration::follow && !redirect.address.host.empty())
            return ++redirects_ > budget ? Decision(GiveUp{}) : Decision(Send{redirect.address});
        return waits ? pause(now) : Decision(GiveUp{});
    case Redirect::Kind::try_again:
    case Redirect::Kind::down:
        break;
    }
    return waits ? pause(now) : Decision(GiveUp{});
}

RedirectRules::Decision RedirectRules::not_sent(Instant now)
{
    return pause(now);
}

RedirectRules::Decision RedirectRules::pause(Instant now)
{
    auto const step = std::min(first_pause * (1 << std::min(pauses_++, 10)), longest_pause);
    auto const jitter = std::chrono::nanoseconds(
        static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(step.count() / 2 + 1)));
    auto const until = now + step / 2 + jitter;
    return until < not_after_ ? Decision(Wait{until}) : Decision(GiveUp{});
}

resp::Value given_up_reply(Redirect const& redirect, resp::Value&& reply)
{
    auto const where = redirect.address.host.empty() ? std::string("another node") : to_string(redirect.address);
    auto const slot = "hash slot " + std::to_string(redirect.slot);
    if (redirect.kind == Redirect::Kind::moved)
        return resp::Value::error(
            std::string(stuck_word) + " too often: the nodes do not agree yet who serves " + slot + ", last named " +
            where + "; if it stays so, the slot is open (tenure doctor names the command that closes it)");
    if (redirect.kind == Redirect::Kind::ask)
        return resp::Value::error(
            std::string(migrating_word) + " " + slot + " is being moved to " + where +
            ", and new claims wait for it; if no resharding is running, close the slot (tenure doctor names the "
            "command)");
    return std::move(reply);
}

} // namespace tenure::redis
