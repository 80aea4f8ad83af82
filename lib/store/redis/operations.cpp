// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations that take one command or one script call for one key.
#include "operations.hpp"

#include "key_names.hpp"
#include "replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <tenure/errc.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

// A name that stays in the line costs the others one pause, which justifies no longer wait.
constexpr std::chrono::seconds leave_within{1};

/** Answers with the result of `read` for the server's reply; nullopt: the reply is malformed.
 *  @param what key or range, for errors */
template <class Reply, class Read>
OutcomeHandler answer_by(ServerPtr const& server, std::string what, ReplyHandler<Reply> handler, Read read)
{
    return [server, what = std::move(what), handler = std::move(handler), read](Outcome&& outcome) mutable {
        auto reply = outcome.succeeded() ? read(outcome.reply) : std::nullopt;
        std::move(handler)(reply ? std::move(*reply) : Reply(failure_of(*server, outcome, what)));
    };
}

/** Calls a script for one key of the range; see `answer_by`. */
template <class Reply, class Read>
void call_for_key(
    ServerPtr const& server, ScriptCall call, KeyRange const& range, std::uint32_t index, Deadline not_after,
    ReplyHandler<Reply> handler, Read read)
{
    call.keys = encode_keys(range, index, 1);
    call.not_after = std::move(not_after);
    call.urgency = resp::Urgency::step;
    run_script(
        server->channel(), std::move(call), answer_by<Reply>(server, range.key(index), std::move(handler), read));
}

bool is_word(resp::Value const& reply, std::string_view word)
{
    return reply.is_string() && reply.as_string() == word;
}

} // namespace

void accept_token(ServerPtr const& server, TokenRequest request, ReplyHandler<TokenReply> handler)
{
    ScriptCall call;
    call.script = &scripts::accept_token();
    call.names.add(fence_key(request.range->key(request.index)));
    call.values.add_all(request.owner, request.token);
    auto const read = [proposed = request.token](resp::Value const& reply) -> std::optional<TokenReply> {
        if (is_word(reply, "accepted"))
            return TokenAccepted{};
        if (is_word(reply, "not owner"))
            return NotOwner{};
        auto const last = read_token(reply);
        return last && *last >= proposed ? std::optional<TokenReply>(TokenTooLow{*last}) : std::nullopt;
    };
    call_for_key<TokenReply>(
        server, std::move(call), *request.range, request.index, request.not_after, std::move(handler), read);
}

void detach(ServerPtr const& server, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto const& claim = *request.claim;
    ScriptCall call;
    call.script = &scripts::detach();
    call.values.add_all(claim.owner, kept_value(claim.owner));
    if (*request.keep_for > std::chrono::milliseconds{0})
        call.values.add(request.keep_for->count());
    auto const read = [](resp::Value const& reply) -> std::optional<ReleaseReply> {
        if (is_word(reply, "kept"))
            return Released{};
        return is_word(reply, "not owner") ? std::optional<ReleaseReply>(NotOwner{}) : std::nullopt;
    };
    call_for_key<ReleaseReply>(
        server, std::move(call), *claim.range, claim.index, request.not_after, std::move(handler), read);
}

void evict(ServerPtr const& server, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    ScriptCall call;
    call.script = &scripts::evict();
    call.values.add_all(request.owner, "evicted/" + request.evicted_by);
    auto const read = [server, range = request.range,
                       index = request.index](resp::Value const& reply) -> std::optional<EvictReply> {
        if (!reply.is_integer() || reply.as_integer() < -2)
            return std::nullopt;
        auto const left = reply.as_integer();
        if (left == -2)
            return NotOwner{};
        if (left == -1)
            return Failure::refused(
                errc::key_conflict,
                server->where() + ": " + range->key(index) +
                    ": has no ttl, so it is not a lease and would never free; delete it by hand if no program uses it",
                true);
        return Evicted{std::chrono::milliseconds(left)};
    };
    call_for_key<EvictReply>(
        server, std::move(call), *request.range, request.index, request.not_after, std::move(handler), read);
}

void leave_line(ServerPtr const& server, KeyRangePtr range)
{
    // `ready()` would connect a channel that was never used
    if (server->channel()->generation() == 0 || !server->channel()->ready() || !server->may_line_up())
        return;
    resp::Command command("LREM", line_of(*range), 0, server->waiter());
    command.set_urgency(resp::Urgency::step);
    server->channel()->execute(
        std::move(command), server->runtime().now() + leave_within,
        [server, range = std::move(range)](Outcome const& outcome) {
            if (outcome.delivery == Delivery::answered && outcome.reply.is_error())
                note_line_refusal(*server, *range, outcome.reply.as_string());
        });
}

void ready(ServerPtr const& server, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    auto const read = [](resp::Value const& reply) {
        return reply.is_integer() ? std::optional<ReadyReply>(Ready{}) : std::nullopt;
    };
    server->channel()->execute(
        resp::Command("EXISTS", server->fence()), std::move(not_after),
        answer_by<ReadyReply>(server, server->fence(), std::move(handler), read));
}

void ready_to_vote(ServerPtr const& server, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    auto const read = [](resp::Value const& reply) {
        return reply.is_list() ? std::optional<ReadyReply>(Ready{}) : std::nullopt;
    };
    server->channel()->execute(
        resp::Command("TIME"), std::move(not_after),
        answer_by<ReadyReply>(server, "the server's time", std::move(handler), read));
}

} // namespace tenure::redis
