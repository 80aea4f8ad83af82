// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReplicatedChannel: groups of commands before a WAIT.
#include "replicated_channel.hpp"

#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>

namespace tenure::redis
{

ReplicatedChannel::ReplicatedChannel(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<HedgedLink> channel, ReplicaAcknowledgement const& wanted)
    : runtime_(std::move(runtime))
    , channel_(std::move(channel))
    , wanted_(wanted)
{
    // waiting for replicas does not count as silence of the server
    channel_->expect_delay(wanted.acknowledged_within);
}

void ReplicatedChannel::execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler)
{
    if (gathering_ == nullptr)
        gathering_ = std::make_shared<Group>();
    auto const& group = gathering_;
    auto const index = group->sent.size();
    group->sent.push_back({std::move(handler), std::nullopt});
    group->not_after = std::max(group->not_after, not_after.at());
    group->urgency = std::max(group->urgency, command.urgency());
    ++group->open;
    channel_->execute(std::move(command), not_after, [self = shared_from_this(), group, index](Outcome outcome) {
        self->answered(*group, index, std::move(outcome));
    });
    // a WAIT on a silent connection must not delay writes on the other one
    if (awaited_ == nullptr || awaited_on_ != channel_->target())
        wait_soon_.post(*runtime_, weak_from_this(), &ReplicatedChannel::wait);
}

void ReplicatedChannel::answered(Group& group, std::size_t index, Outcome outcome)
{
    bool const wrote = outcome.succeeded();
    group.sent[index].outcome = std::move(outcome);
    if (!wrote || group.wait)
        hand_on(group, index);
}

void ReplicatedChannel::wait()
{
    auto const group = std::exchange(gathering_, nullptr);
    if (group == nullptr || group->open == 0)
        return;
    awaited_ = group;
    resp::Command wait("WAIT", wanted_.acknowledged_by, wanted_.acknowledged_within.count());
    wait.set_urgency(group->urgency);
    channel_->execute(std::move(wait), group->not_after, [self = shared_from_this(), group](Outcome outcome) {
        self->wait_answered(*group, std::move(outcome));
    });
    awaited_on_ = channel_->target();
}

void ReplicatedChannel::wait_answered(Group& group, Outcome outcome)
{
    if (awaited_.get() == &group)
        awaited_ = nullptr;
    if (outcome.succeeded() && (!outcome.reply.is_integer() || outcome.reply.as_integer() < 0))
        channel_->invalidate("a reply to WAIT that is no number of replicas");
    group.wait = std::move(outcome);
    if (gathering_ != nullptr && awaited_ == nullptr)
        wait_soon_.post(*runtime_, weak_from_this(), &ReplicatedChannel::wait);
    for (std::size_t i = 0; i < group.sent.size(); ++i)
        if (group.sent[i].outcome)
            hand_on(group, i);
}

void ReplicatedChannel::hand_on(Group& group, std::size_t index)
{
    auto [handler, answer] = std::exchange(group.sent[index], {});
    auto outcome = std::move(*answer);
    --group.open;
    if (outcome.succeeded())
        outcome.shortfall = shortfall_of(outcome, *group.wait);
    // the handler may send more commands, which may join this group
    std::move(handler)(std::move(outcome));
}

std::shared_ptr<Shortfall const> ReplicatedChannel::shortfall_of(Outcome const& outcome, Outcome const& wait)
{
    auto const make = [](Shortfall shortfall) { return std::make_shared<Shortfall const>(std::move(shortfall)); };
    // WAIT covers only writes before it on the same connection.
    if (wait.delivery != Delivery::answered || wait.login != outcome.login)
        return make(
            {wait.error ? wait.error : make_error_code(errc::store_unavailable),
             "the connection was lost before the replicas that have it were counted" +
                 (wait.detail.empty() ? std::string() : " (" + wait.detail + ")"),
             false, true});
    if (wait.reply.is_error()) {
        auto const error = classify(wait.reply.as_string());
        if (error.reconnect)
            channel_->reconnect();
        if (error.meaning == ErrorMeaning::command_unavailable)
            return make(
                {error.error,
                 "this server or proxy refuses WAIT, which replicas=" + std::to_string(wanted_.acknowledged_by) +
                     " needs (" + error.words + "): let the proxy pass WAIT, or switch replicas off",
                 true, false});
        return make(
            {error.error, error.words + (error.advice.empty() ? std::string() : "; " + error.advice), error.fatal,
             false});
    }
    if (!wait.reply.is_integer() || wait.reply.as_integer() < 0)
        return make({errc::protocol_error, "malformed reply to WAIT", false, true});
    auto const count = wait.reply.as_integer();
    if (count >= wanted_.acknowledged_by)
        return nullptr;
    return make(
        {errc::not_replicated,
         std::to_string(count) + " of the " + std::to_string(wanted_.acknowledged_by) +
             " replicas asked for acknowledged it within " + std::to_string(wanted_.acknowledged_within.count()) +
             " ms; check that they are connected and not behind (INFO replication), wait longer for them, or ask for "
             "fewer",
         false, false});
}

} // namespace tenure::redis
