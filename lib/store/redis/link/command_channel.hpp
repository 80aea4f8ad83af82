// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"

#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** What carries commands to the server that executes them: one server (HedgedLink), or whichever node of a cluster
 * serves a hash slot (SlotChannel). */
class CommandChannel
{
public:
    CommandChannel() = default;
    CommandChannel(CommandChannel const&) = delete;
    CommandChannel& operator=(CommandChannel const&) = delete;
    virtual ~CommandChannel() = default;

    /** Sends a command. The handler is called on the strand, once, never inside this call. */
    virtual void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) = 0;

    /** True if a command given now would be written at once. */
    [[nodiscard]] virtual bool ready() = 0;

    /** Why not, for a person. */
    [[nodiscard]] virtual std::string last_error() const = 0;

    /** What the last handshake returned; all empty before the first. */
    [[nodiscard]] virtual ServerInfo const& server() const noexcept = 0;

    /** Another number for each handshake: what was learned about one connection need not hold for the next. */
    [[nodiscard]] virtual std::uint64_t generation() const noexcept = 0;

    /** Notes a ttl in use: for the longest of them a silent connection is still read. */
    virtual void note_ttl(std::chrono::milliseconds ttl) noexcept = 0;

    /** The server said that it is the wrong one for now (a replica, still loading): looks for the right one anew. */
    virtual void reconnect() = 0;

    /** Drops what is connected and connects anew: a reply made no sense, so replies and requests may have come apart.
     */
    virtual void distrust(std::string_view what) = 0;

    /** Which of several servers answered last; empty where the store's name tells. */
    [[nodiscard]] virtual std::string place() const { return {}; }
};

} // namespace tenure::redis
