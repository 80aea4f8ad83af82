// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Messages to the waiters of a range.
#include "publish.hpp"

#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

// A waiter soon finds the key by its own timer.
constexpr std::chrono::seconds worth_publishing{1};

} // namespace

void publish(ServerPtr const& server, KeyRange const& range, std::string_view message)
{
    auto channel = server->channel_of(range);
    resp::Command command(
        server->announces_in_shard() ? std::string_view("SPUBLISH") : std::string_view("PUBLISH"), channel, message);
    command.set_urgency(resp::Urgency::step);
    server->channel()->execute(
        std::move(command), server->runtime().now() + worth_publishing,
        [server, channel = std::move(channel)](Outcome const& outcome) {
            if (outcome.delivery != Delivery::answered || !outcome.reply.is_error())
                return;
            // other errors may be temporary, such as a server that is loading
            auto const error = classify(outcome.reply.as_string());
            if (error.error == errc::permission_denied || error.meaning == ErrorMeaning::command_unavailable)
                server->publish_refused(channel);
        });
}

void follow_up(
    ServerPtr const& server, KeyRange const& range, ReleaseNotes const& notes, std::size_t number, bool by_script)
{
    if (!notes.line_refusal.empty())
        note_line_refusal(*server, range, notes.line_refusal);
    auto const message = notes.message(number);
    if (!notes.publish_refusal.empty() && classify(notes.publish_refusal).error == errc::permission_denied) {
        server->publish_refused(server->channel_of(range));
        return;
    }
    if (!notes.publish_refusal.empty())
        server->publish_in_scripts_refused(notes.publish_refusal);
    if (!message.empty() && (!by_script || !notes.publish_refusal.empty()))
        publish(server, range, message);
}

} // namespace tenure::redis
