// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Execution of a script, which is loaded if the server does not have it.
#include "scripts.hpp"

#include "plain_form.hpp"
#include "store/redis/link/command_channel.hpp"
#include "store/redis/wire/error_meaning.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace tenure::redis
{

std::string sha1_hex(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1)
        throw std::runtime_error("OpenSSL computes no SHA-1 here, by which Redis names scripts");
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
        hex += digits[digest.at(i) >> 4U];
        hex += digits[digest.at(i) & 0xfU];
    }
    return hex;
}

Script::Script(std::string source)
    : text(std::move(source))
    , sha(sha1_hex(text))
{
    by_text.add_all(std::string_view("EVAL"), text);
    by_name.add_all(std::string_view("EVALSHA"), sha);
    if (auto form = plain_form(text); form != text)
        plain = std::make_shared<Script const>(std::move(form));
}

PublishingScript::PublishingScript(std::string const& source)
    : everywhere(source)
    , in_shard(with_spublish(source))
{
}

resp::EncodedArguments const& ScriptAttempt::begin(Script const& script, CommandChannel& channel)
{
    plain_ = channel.refusals().include(Refusals::Of::free_scripts);
    auto const& form = plain_ && script.plain != nullptr ? *script.plain : script;
    return by_text_ ? form.by_text : form.by_name;
}

bool ScriptAttempt::goes_on(CommandChannel& channel, Outcome const& outcome)
{
    if (outcome.delivery != Delivery::answered || !outcome.reply.is_error())
        return false;
    if (!plain_ && meaning_of(outcome.reply.as_string()) == ErrorMeaning::script_text_refused) {
        (void)channel.refusals().note(Refusals::Of::free_scripts);
        by_text_ = false;
        plain_ = true;
        return true;
    }
    return is_unknown_script(outcome) && !std::exchange(by_text_, true);
}

resp::Command command_of(ScriptCall const& call, ScriptAttempt& attempt, CommandChannel& channel)
{
    static resp::EncodedArguments const no_keys;
    auto const& keys = call.keys != nullptr ? *call.keys : no_keys;
    resp::Command command(attempt.begin(*call.script, channel));
    command.reserve(
        command.encoded_size() + call.names.bytes().size() + keys.bytes().size() + call.values.bytes().size() + 96);
    command.add(call.names.count() + keys.count()).add(call.names).add(keys).add(call.values);
    if (call.with_run_id)
        command.add_run_id();
    if (call.reply_bytes != 0)
        command.expect_reply_bytes(call.reply_bytes);
    command.set_urgency(call.urgency);
    if (call.leaves_with_next)
        command.leave_with_next();
    return command;
}

bool is_unknown_script(resp::Value const& reply)
{
    if (!reply.is_error())
        return false;
    auto const text = reply.as_string();
    return meaning_of(text) == ErrorMeaning::script_unknown || is_command_unavailable(text);
}

bool is_unknown_script(Outcome const& outcome)
{
    return outcome.delivery == Delivery::answered && is_unknown_script(outcome.reply);
}

namespace
{

void send(
    std::shared_ptr<CommandChannel> const& channel, ScriptCall call, ScriptAttempt attempt, OutcomeHandler handler)
{
    auto command = command_of(call, attempt, *channel);
    auto const not_after = call.not_after;
    channel->execute(
        std::move(command), not_after,
        [channel, call = std::move(call), attempt, handler = std::move(handler)](Outcome&& outcome) mutable {
            if (!attempt.goes_on(*channel, outcome)) {
                std::move(handler)(std::move(outcome));
                return;
            }
            // the next attempt has waited for its turn already
            if (call.urgency == resp::Urgency::first)
                call.urgency = resp::Urgency::step;
            send(channel, std::move(call), attempt, std::move(handler));
        });
}

} // namespace

void run_script(std::shared_ptr<CommandChannel> const& channel, ScriptCall call, OutcomeHandler handler)
{
    send(channel, std::move(call), {}, std::move(handler));
}

} // namespace tenure::redis
