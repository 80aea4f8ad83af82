// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "refusals.hpp"
#include "runtime/names.hpp"

#include <store/claim_window.hpp>

#include <tenure/backend/deadline.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** Carries commands to the server that executes them: one server (HedgedLink), or the node of a cluster that serves a
 *  hash slot (SlotChannel). */
class CommandChannel
{
public:
    CommandChannel() = default;
    CommandChannel(CommandChannel const&) = delete;
    CommandChannel& operator=(CommandChannel const&) = delete;
    virtual ~CommandChannel() = default;

    /** Sends a command. The handler is called on the strand, once, never inside this call. */
    virtual void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) = 0;

    /** True if a command would be written at once. */
    [[nodiscard]] virtual bool ready() = 0;

    /** True if there is a connection, even if it is silent and another one is being opened beside it. */
    [[nodiscard]] virtual bool connected() { return ready(); }

    /** The claims of this process at the server; null: it is not known yet which server executes the commands. */
    [[nodiscard]] virtual store::ClaimWindow* claims() = 0;

    /** Calls the task on the strand when `claims` may have changed from null, at the latest at the deadline. Requires
     *  null. */
    virtual void await_server(Deadline const& until, std::function<void()> task) { (void)until, task(); }

    /** Why the channel is not ready, as text for people. */
    [[nodiscard]] virtual std::string last_error() const = 0;

    /** The server's answer to the last handshake; all fields are empty before the first. */
    [[nodiscard]] virtual ServerInfo const& server() const noexcept = 0;

    /** Changes with each handshake, because facts about one connection may not hold for the next. */
    [[nodiscard]] virtual std::uint64_t generation() const noexcept = 0;

    /** What the server has refused since its last login. */
    [[nodiscard]] virtual Refusals& refusals() noexcept = 0;

    /** Records a ttl in use. A silent connection is read for the longest of them. */
    virtual void note_ttl(std::chrono::milliseconds ttl) noexcept = 0;

    /** Reconnects, because the server said that it is currently the wrong one (a replica, or loading). */
    virtual void reconnect() = 0;

    /** Drops the connection and opens another after a malformed reply, because later replies may not match their
     *  requests. */
    virtual void invalidate(std::string_view what) = 0;

    /** The server that answered last, if there are several; empty if the store's name identifies it. */
    [[nodiscard]] virtual std::string place() const { return {}; }
};

} // namespace tenure::redis
