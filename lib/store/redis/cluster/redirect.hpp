// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "hash_slot.hpp"
#include "store/redis/link/server_address.hpp"

#include "store/redis/wire/value.hpp"

#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace tenure::redis
{

/** What a node said instead of executing a command. Nothing has been written then. */
struct Redirect {
    enum class Kind {
        /// the slot is at another node from now on
        moved,
        /// the slot is being moved, and the keys are at the other node already, or nowhere
        ask,
        /// the slot is being moved, and some of the keys have gone
        try_again,
        /// no node serves the slot for now
        down
    };
    Kind kind = Kind::down;
    /// moved, ask: which slot, and where; an empty host: the node does not know it
    HashSlot slot = 0;
    ServerAddress address;
};

/** Reads an error reply; unset if it is no redirect.
 *  @param asked  who sent it: a redirect without a host means another port of the same host */
[[nodiscard]] std::optional<Redirect> read_redirect(resp::Value const& reply, ServerAddress const& asked);

/** What a command does while its slot is being moved. */
enum class Migration {
    /// follows its key: for what creates no keys (renewals, releases)
    follow,
    /// waits until that is over: a claim at the other node would create the slot's counter of fencing tokens there, and
    /// the counter's own move would fail
    wait,
    /// fails at once
    report
};

/** Decides what becomes of one request that is redirected. Pure: replies and the time in, decisions out. */
class RedirectRules
{
public:
    /// redirects that one request follows
    static constexpr int budget = 5;

    /** @param random  for the jitter of pauses */
    RedirectRules(Migration migration, Instant not_after, std::function<std::uint64_t()> random);

    /** The redirect is the answer: nothing more is tried. */
    struct GiveUp {
    };
    /** To the owner of the slot by the map, or to this node right behind an ASKING. */
    struct Send {
        std::optional<ServerAddress> asking;
    };
    /** Until then, and then to the owner of the slot. */
    struct Wait {
        Instant until;
    };
    using Decision = std::variant<GiveUp, Send, Wait>;

    [[nodiscard]] Decision redirected(Redirect const& redirect, Instant now);

    /** It could not be written, which says nothing about the slot: tried again soon. */
    [[nodiscard]] Decision not_sent(Instant now);

private:
    [[nodiscard]] Decision pause(Instant now);

    Migration migration_;
    Instant not_after_;
    std::function<std::uint64_t()> random_;
    int redirects_ = 0;
    int pauses_ = 0;
};

/** The reply of a request that was given up, so that it reads as trouble that passes. */
[[nodiscard]] resp::Value given_up_reply(Redirect const& redirect, resp::Value&& reply);

} // namespace tenure::redis
