// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_channel.hpp"
#include "hedged_link.hpp"
#include "runtime/names.hpp"
#include "runtime/once_per_turn.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::redis
{

/** The channel to one server for writes that replicas shall acknowledge. It keeps each reply until a `WAIT` after the
 *  command, on the same connection, has returned the number of replicas that have the write. If they are too few, the
 *  outcome gets a `Shortfall`.
 *
 *  Commands of one turn share one WAIT, and commands that are sent during a WAIT share the next. So unavailable
 *  replicas delay a request by at most twice the limit, for any number of requests. Error replies wrote nothing and are
 *  passed on at once. */
class ReplicatedChannel final : public CommandChannel, public std::enable_shared_from_this<ReplicatedChannel>
{
public:
    /** @param link  used by this channel only */
    ReplicatedChannel(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<HedgedLink> channel, ReplicaAcknowledgement const& wanted);

    void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) override;

    [[nodiscard]] bool ready() override { return channel_->ready(); }
    [[nodiscard]] bool connected() override { return channel_->connected(); }
    [[nodiscard]] store::ClaimWindow* claims() override { return channel_->claims(); }
    [[nodiscard]] std::string last_error() const override { return channel_->last_error(); }
    [[nodiscard]] ServerInfo const& server() const noexcept override { return channel_->server(); }
    [[nodiscard]] std::uint64_t generation() const noexcept override { return channel_->generation(); }
    [[nodiscard]] Refusals& refusals() noexcept override { return channel_->refusals(); }
    [[nodiscard]] std::string place() const override { return channel_->place(); }
    void note_ttl(std::chrono::milliseconds ttl) noexcept override { channel_->note_ttl(ttl); }
    void reconnect() override { channel_->reconnect(); }
    void invalidate(std::string_view what) override { channel_->invalidate(what); }

private:
    struct Sent {
        OutcomeHandler handler;
        /// the reply, kept until its WAIT is answered
        std::optional<Outcome> outcome;
    };
    /** Commands that one WAIT covers. */
    struct Group {
        std::vector<Sent> sent;
        /// number of outcomes that were not passed on yet
        std::size_t open = 0;
        /// of its least urgent command: the WAIT must not be written before it
        resp::Urgency urgency = resp::Urgency::renewal;
        /// the latest `not_after` of the group
        Instant not_after = Instant::min();
        std::optional<Outcome> wait;
    };
    using GroupPtr = std::shared_ptr<Group>;

    void answered(Group& group, std::size_t index, Outcome outcome);
    void wait();
    void wait_answered(Group& group, Outcome outcome);
    void hand_on(Group& group, std::size_t index);
    [[nodiscard]] std::shared_ptr<Shortfall const> shortfall_of(Outcome const& outcome, Outcome const& wait);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<HedgedLink> channel_;
    ReplicaAcknowledgement wanted_;
    /// group without a WAIT; null: nothing was sent since the last one
    GroupPtr gathering_;
    /// group whose WAIT is pending, and the connection that carries it; null: no WAIT is pending
    GroupPtr awaited_;
    void const* awaited_on_ = nullptr;
    OncePerTurn wait_soon_;
};

} // namespace tenure::redis
