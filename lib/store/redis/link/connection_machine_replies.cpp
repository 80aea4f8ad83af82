// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Assigns received values to requests, subscriptions and the handshake.
#include "connection_machine.hpp"

#include <tenure/errc.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

using Answer = resp::Command::Answer;

std::optional<Answer> confirmation_kind(resp::Value const& value)
{
    if (!value.is_list() || value.elements().size() < 2)
        return std::nullopt;
    constexpr std::array<std::pair<std::string_view, Answer>, 6> words{{
        {"subscribe", Answer::subscribe},
        {"psubscribe", Answer::psubscribe},
        {"ssubscribe", Answer::ssubscribe},
        {"unsubscribe", Answer::unsubscribe},
        {"punsubscribe", Answer::punsubscribe},
        {"sunsubscribe", Answer::sunsubscribe},
    }};
    auto const word = value.elements().front().as_string();
    for (auto const& [text, kind] : words)
        if (word == text)
            return kind;
    return std::nullopt;
}

bool is_message(resp::Value const& value)
{
    if (value.type() != resp::Type::array || value.elements().size() < 3)
        return false;
    auto const word = value.elements().front().as_string();
    return word == "message" || word == "pmessage" || word == "smessage";
}

bool is_confirmed(resp::Command const& command) noexcept
{
    return command.answer() != Answer::reply && command.answer() != Answer::transaction;
}

bool begins(Answer kind) noexcept
{
    return kind == Answer::subscribe || kind == Answer::psubscribe || kind == Answer::ssubscribe;
}

} // namespace

bool ConnectionMachine::take_value(Action& action, resp::Value&& value, Instant now)
{
    if (value.type() == resp::Type::push) {
        if (phase_ == Phase::ready && confirmation_kind(value))
            return take_confirmation(action, std::move(value), now);
        action = DeliverPush{std::move(value)};
        return true;
    }
    if (phase_ == Phase::login) {
        take_login_reply(value, now);
        return false;
    }
    last_answer_ = now;
    if (server().protocol == 2 && value.type() == resp::Type::array) {
        // RESP2 has no push type, so only earlier requests distinguish a message from a reply
        bool const awaits_confirmation = !queue_.written().empty() && is_confirmed(queue_.written().front().command);
        if (subscribed_ && is_message(value)) {
            action = DeliverPush{std::move(value)};
            return true;
        }
        if ((awaits_confirmation || (subscribed_ && queue_.written().empty())) && confirmation_kind(value))
            return take_confirmation(action, std::move(value), now);
    }
    return take_reply(action, std::move(value), now);
}

void ConnectionMachine::take_login_reply(resp::Value const& value, Instant now)
{
    if (handshake_.has_bytes()) {
        protocol_failure("an answer to a login that was not sent yet", now);
        return;
    }
    switch (handshake_.reply(value)) {
    case Handshake::Progress::more:
        break;
    case Handshake::Progress::done:
        become_ready(now);
        break;
    case Handshake::Progress::refused:
        fail(handshake_.refusal(), now);
        break;
    }
}

bool ConnectionMachine::take_reply(Action& action, resp::Value&& value, Instant now)
{
    if (queue_.written().empty()) {
        protocol_failure("an unsolicited reply", now);
        return false;
    }
    auto const& command = queue_.written().front().command;
    if (command.answer() == Answer::transaction)
        return take_transaction_reply(action, std::move(value), now);
    if (is_confirmed(command) && !value.is_error()) {
        protocol_failure("a reply where a confirmation of a subscription was due", now);
        return false;
    }
    answer_front(action, std::move(value), now);
    return true;
}

bool ConnectionMachine::take_transaction_reply(Action& action, resp::Value&& value, Instant now)
{
    if (!transaction_.are_awaited())
        transaction_.begin(queue_.written().front().command.transaction_size());
    auto const progress = transaction_.take(std::move(value));
    switch (progress) {
    case TransactionReplies::Progress::more:
        return false;
    case TransactionReplies::Progress::malformed:
        protocol_failure("a malformed reply to a transaction", now);
        return false;
    case TransactionReplies::Progress::done:
    case TransactionReplies::Progress::done_for_good:
        break;
    }
    answer_front(action, transaction_.take_result(), now);
    auto& outcome = std::get<Complete>(action).outcome;
    outcome.ran_apart = transaction_.ran_apart();
    outcome.refused_command = transaction_.refused_command();
    outcome.ends_login = progress == TransactionReplies::Progress::done_for_good;
    if (progress == TransactionReplies::Progress::done_for_good)
        fail(
            {make_error_code(errc::store_refused),
             "the server refused EXEC, and may go on to queue commands instead of running them", false},
            now);
    return true;
}

void ConnectionMachine::answer_front(Action& action, resp::Value&& value, Instant now)
{
    auto& request = queue_.written().front();
    if (request.command.urgency() != resp::Urgency::renewal)
        pace_.answered({now - request.since, longest_answer(), request.expected, request.place}, now);
    request.not_after.progressed(now);
    auto& done = action.emplace<Complete>();
    done.handler = std::move(request.handler);
    done.outcome.delivery = Delivery::answered;
    done.outcome.since = request.since;
    done.outcome.login = login_;
    done.outcome.reply.take(std::move(value));
    queue_.pop_written();
}

bool ConnectionMachine::take_confirmation(Action& action, resp::Value&& value, Instant now)
{
    auto const kind = *confirmation_kind(value);
    auto const& channel = value.elements()[1];
    bool const is_awaited = !queue_.written().empty() && queue_.written().front().command.answer() == kind &&
                            (channel.is_null() || queue_.written().front().command.names(channel.as_string()));
    if (!is_awaited) {
        if (begins(kind)) {
            protocol_failure("an unsolicited confirmation of a subscription", now);
            return false;
        }
        // a server may end a subscription without a request
        action = DeliverPush{std::move(value)};
        return true;
    }
    if (begins(kind))
        subscribed_ = true;
    if (--queue_.written().front().missing > 0)
        return false;
    answer_front(action, std::move(value), now);
    return true;
}

void ConnectionMachine::protocol_failure(std::string detail, Instant now)
{
    fail({make_error_code(errc::protocol_error), "the server sent " + std::move(detail), false}, now);
}

} // namespace tenure::redis
