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

/** A node's error reply for a command that another node must execute. The command has written nothing. */
struct Redirect {
    enum class Kind {
        /// another node serves the slot from now on
        moved,
        /// the slot is migrating, and the keys are at the other node already or do not exist
        ask,
        /// the slot is migrating, and some of the keys have gone
        try_again,
        /// no node serves the slot currently
        down
    };
    Kind kind = Kind::down;
    /// moved, ask: the slot and the node's address; an empty host: unknown to the sender
    HashSlot slot = 0;
    ServerAddress address;
};

/** Parses an error reply; nullopt if it is not a redirect.
 *  @param asked  address of the sender: a redirect without a host means another port of the same host */
[[nodiscard]] std::optional<Redirect> read_redirect(resp::Value const& reply, ServerAddress const& asked);

/** Policy of a command while its slot migrates. */
enum class Migration {
    /// follows its key: for commands that create no keys (renewals, releases)
    follow,
    /// waits for the end: a claim at the other node would create the slot's counter of fencing tokens there, and the
    /// counter's own migration would fail
    wait,
    /// fails at once
    fail_fast
};

/** Decides the next step of a redirected request. Pure: takes replies and the time, returns decisions. */
class RedirectRules
{
public:
    /// redirects that one request follows
    static constexpr int budget = 5;

    /** @param random  source of jitter for pauses */
    RedirectRules(Migration migration, Instant not_after, std::function<std::uint64_t()> random);

    /** The redirect is the answer: no further attempts. */
    struct GiveUp {
    };
    /** Send to the owner of the slot in the map, or to this node after ASKING. */
    struct Send {
        std::optional<ServerAddress> asking;
    };
    /** Wait until then, and send to the owner of the slot. */
    struct Wait {
        Instant until;
    };
    using Decision = std::variant<GiveUp, Send, Wait>;

    [[nodiscard]] Decision redirected(Redirect const& redirect, Instant now);

    /** The request was not written, which says nothing about the slot: retries soon. */
    [[nodiscard]] Decision not_sent(Instant now);

private:
    [[nodiscard]] Decision pause(Instant now);

    Migration migration_;
    Instant not_after_;
    std::function<std::uint64_t()> random_;
    int redirects_ = 0;
    int pauses_ = 0;
};

/** The reply of an abandoned request, in the form of a temporary error. */
[[nodiscard]] resp::Value given_up_reply(Redirect const& redirect, resp::Value&& reply);

} // namespace tenure::redis
