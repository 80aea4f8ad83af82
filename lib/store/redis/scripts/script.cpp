// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Execution of a script, which is loaded if the server does not have it.
#include "scripts.hpp"

#include "store/redis/link/command_channel.hpp"
#include "store/redis/wire/error_meaning.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace tenure::redis
{

namespace
{

} // namespace

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
}

resp::Command command_of(ScriptCall const& call, bool by_text)
{
    static resp::EncodedArguments const no_keys;
    auto const& keys = call.keys != nullptr ? *call.keys : no_keys;
    resp::Command command(by_text ? call.script->by_text : call.script->by_name);
    command.reserve(
        command.encoded_size() + call.names.bytes().size() + keys.bytes().size() + call.values.bytes().size() + 96);
    command.add(call.names.count() + keys.count()).add(call.names).add(keys).add(call.values);
    if (call.with_run_id)
        command.add_run_id();
    if (call.reply_bytes != 0)
        command.expect_reply_bytes(call.reply_bytes);
    command.set_urgency(call.urgency);
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

void run_script(std::shared_ptr<CommandChannel> const& channel, ScriptCall call, OutcomeHandler handler)
{
    auto shared = std::make_shared<ScriptCall>(std::move(call));
    channel->execute(
        command_of(*shared, false), shared->not_after,
        [channel, shared, handler = std::move(handler)](Outcome&& outcome) mutable {
            if (!is_unknown_script(outcome)) {
                std::move(handler)(std::move(outcome));
                return;
            }
            // the second call has waited for its turn already
            if (shared->urgency == resp::Urgency::first)
                shared->urgency = resp::Urgency::step;
            channel->execute(command_of(*shared, true), shared->not_after, std::move(handler));
        });
}

} // namespace tenure::redis
