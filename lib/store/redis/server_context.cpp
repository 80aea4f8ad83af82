// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ServerContext: facts about a server, and its failures.
#include "server_context.hpp"

#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace tenure::redis
{

ServerContext::ServerContext(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<CommandChannel> channel, ServerSettings settings)
    : runtime_(std::move(runtime))
    , channel_(std::move(channel))
    , settings_(std::move(settings))
{
}

std::string ServerContext::where() const
{
    auto const place = channel_->place();
    return place.empty() ? name() : name() + " at " + place;
}

bool ServerContext::announces_in_shard() const noexcept
{
    return settings_.audience == Audience::shard && channel_->server().version.has_sharded_channels();
}

Failure ServerContext::refuse(resp::Value const& error, std::string_view what)
{
    return refuse(classify(error.as_string()), what);
}

Failure ServerContext::refuse(ServerError const& error, std::string_view what)
{
    if (error.reconnect)
        channel_->reconnect();
    return refused(error, where(), what);
}

Failure ServerContext::refuse_native(resp::Value const& error, std::string_view what)
{
    auto const understood = classify(error.as_string());
    if (understood.error != errc::key_conflict)
        channel_->refusals().note(Refusals::Of::native);
    return refuse(understood, what);
}

void ServerContext::publish_refused(std::string_view channel)
{
    if (!channel_->refusals().note(Refusals::Of::publish))
        return;
    runtime_->log(
        LogLevel::warning, where() + ": may not announce releases on " + std::string(channel) +
                               ", so waiters elsewhere wake later; grant " +
                               (announces_in_shard() ? "+spublish" : "+publish") + " and &" + std::string(channel) +
                               ", or switch notifications off");
}

void ServerContext::publish_in_scripts_refused(std::string_view why)
{
    if (!channel_->refusals().note(Refusals::Of::publish_in_scripts))
        return;
    runtime_->log(
        LogLevel::info, where() +
                            ": does not publish in scripts, so each release that wakes a waiter is followed by a "
                            "command that publishes (" +
                            classify(why).words + ")");
}

void ServerContext::transactions_refused(std::string_view why, bool for_good)
{
    constexpr auto transactions = Refusals::Of::transactions;
    auto& refusals = channel_->refusals();
    if (!(for_good ? refusals.note_for_good(transactions) : refusals.note(transactions)))
        return;
    runtime_->log(
        LogLevel::info, where() +
                            ": does not run the transactions of claims, so scripts claim single keys, which costs "
                            "more (" +
                            classify(why).words + ")");
}

void ServerContext::line_refused(std::string_view line, std::string_view why)
{
    if (!channel_->refusals().note(Refusals::Of::line))
        return;
    auto const stem = std::string(line.substr(0, line.rfind(':')));
    runtime_->log(
        LogLevel::warning,
        where() + ": may not use the line of waiters " + std::string(line) +
            ", so waiters are served in no order; grant +lpos +rpush +lpush +lpop +lrem +lrange +llen +exists, ~" +
            std::string(line) + " and ~" + stem + ":watched (" + std::string(why) + ")");
}

void ServerContext::watched_refused(std::string_view key, std::string_view why)
{
    if (!channel_->refusals().note(Refusals::Of::watched))
        return;
    runtime_->log(
        LogLevel::warning, where() + ": may not write " + std::string(key) +
                               ", so observers may not hear of each release; grant +set and ~" + std::string(key) +
                               " (" + std::string(why) + ")");
}

void ServerContext::note_closed(std::chrono::milliseconds opens_in)
{
    auto const now = runtime_->now();
    if (std::exchange(closed_until_, std::max(closed_until_, now + opens_in)) > now)
        return;
    runtime_->log(
        LogLevel::warning,
        where() + ": no claims for another " + std::to_string(opens_in.count()) +
            " ms: this server process has not granted leases before (a failover, a restart, or the first use of " +
            marker() + "), and may not know of some that are still valid (delay_after_failover)");
}

ServerContext::NativeDelete ServerContext::native_delete() const noexcept
{
    auto const& server = channel_->server();
    if (refuses(Refusals::Of::native))
        return NativeDelete::none;
    if (server.version.at_least(9, 0) && server.server == "valkey")
        return NativeDelete::delifeq;
    if (server.version.at_least(8, 4) && server.server == "redis")
        return NativeDelete::delex;
    return NativeDelete::none;
}

bool ServerContext::has_set_ifeq() const noexcept
{
    auto const& server = channel_->server();
    if (refuses(Refusals::Of::native))
        return false;
    return (server.version.at_least(8, 1) && server.server == "valkey") ||
           (server.version.at_least(8, 4) && server.server == "redis");
}

Failure failure_of(ServerContext& server, Outcome const& outcome, std::string_view what)
{
    if (outcome.delivery != Delivery::answered)
        return outcome.undelivered();
    return outcome.reply.is_error() ? server.refuse(outcome.reply, what) : malformed_reply(server, what);
}

Failure failure_of_release(ServerContext& server, Outcome const& outcome, std::string_view what)
{
    auto failure = failure_of(server, outcome, what);
    if (outcome.delivery == Delivery::answered && outcome.reply.is_error() &&
        may_come_from_publishing(outcome.reply.as_string())) {
        server.publish_in_scripts_refused(outcome.reply.as_string());
        failure.effect = Failure::Effect::unknown;
        failure.fatal = false;
    }
    return failure;
}

bool concerns_single_key(Outcome const& outcome)
{
    return outcome.refused() && concerns_single_key(classify(outcome.reply.as_string()));
}

bool is_command_unavailable(Outcome const& outcome)
{
    return outcome.refused() && is_command_unavailable(outcome.reply.as_string());
}

Failure malformed_reply(ServerContext& server, std::string_view what)
{
    server.channel()->invalidate("a malformed reply");
    return Failure::unknown(errc::protocol_error, server.where() + ": " + std::string(what) + ": malformed reply");
}

void note_line_refusal(ServerContext& server, KeyRange const& range, std::string_view words)
{
    // other errors may be temporary, such as a migrating hash slot or a foreign key in place of the line
    if (auto const error = classify(words);
        error.error == errc::permission_denied || error.meaning == ErrorMeaning::command_unavailable)
        server.line_refused(line_of(range), error.words);
}

} // namespace tenure::redis
