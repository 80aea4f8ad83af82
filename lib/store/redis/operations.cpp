// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations that take one command or one script call for one key.
#include "operations.hpp"

#include "key_names.hpp"
#include "replies.hpp"
#include "steps.hpp"
#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <tenure/errc.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

// A name that stays in the line costs the others one pause, which justifies no longer wait.
constexpr std::chrono::seconds leave_within{1};

bool is_word(resp::Value const& reply, std::string_view word)
{
    return reply.is_string() && reply.as_string() == word;
}

} // namespace

store::Request<TokenReply> accept_token(ServerPtr server, TokenRequest request)
{
    auto call = call_for_key(scripts::accept_token(), *request.range, request.index, request.not_after);
    call.names.add(fence_key(request.range->key(request.index)));
    call.values.add_all(request.owner, request.token);
    auto propose = call_script(server, std::move(call));
    auto const outcome = co_await propose;
    if (is_word(outcome.reply, "accepted"))
        co_return TokenAccepted{};
    if (is_word(outcome.reply, "not owner"))
        co_return NotOwner{};
    auto const last = outcome.succeeded() ? read_token(outcome.reply) : std::nullopt;
    if (last && *last >= request.token)
        co_return TokenTooLow{*last};
    co_return failure_of(*server, outcome, request.range->key(request.index));
}

store::Request<ReleaseReply> detach(ServerPtr server, ReleaseRequest request)
{
    auto const& claim = *request.claim;
    auto const& script = server->is_redisson(*claim.range) ? redisson::detach() : scripts::detach();
    auto call = call_for_key(script, *claim.range, claim.index, request.not_after);
    call.values.add_all(claim.owner, kept_value(claim.owner));
    if (*request.keep_for > std::chrono::milliseconds{0})
        call.values.add(request.keep_for->count());
    auto keep = call_script(server, std::move(call));
    auto const outcome = co_await keep;
    if (is_word(outcome.reply, "kept"))
        co_return Released{};
    if (is_word(outcome.reply, "not owner"))
        co_return NotOwner{};
    co_return failure_of(*server, outcome, claim.key());
}

store::Request<EvictReply> evict(ServerPtr server, EvictRequest request)
{
    auto const key = request.range->key(request.index);
    auto const& script = server->is_redisson(*request.range) ? redisson::evict() : scripts::evict();
    auto call = call_for_key(script, *request.range, request.index, request.not_after);
    call.values.add_all(request.owner, "evicted/" + request.evicted_by);
    auto replace = call_script(server, std::move(call));
    auto const outcome = co_await replace;
    auto const left = outcome.reply.as_integer();
    if (!outcome.reply.is_integer() || left < -2)
        co_return failure_of(*server, outcome, key);
    if (left == -2)
        co_return NotOwner{};
    if (left == -1)
        co_return Failure::refused(
            errc::key_conflict,
            server->where() + ": " + key +
                ": has no ttl, so it is not a lease and would never become free; delete it by hand if no program uses "
                "it",
            true);
    co_return Evicted{std::chrono::milliseconds(left)};
}

void leave_line(ServerPtr const& server, KeyRangePtr range)
{
    // `ready()` would connect a channel that was never used
    if (server->channel()->generation() == 0 || !server->channel()->ready() || !server->may_line_up() ||
        server->is_redisson(*range))
        return;
    resp::Command command("LREM", line_of(*range), 0, server->waiter());
    command.set_urgency(resp::Urgency::step);
    server->channel()->execute(
        std::move(command), server->runtime().now() + leave_within,
        [server, range = std::move(range)](Outcome const& outcome) {
            if (outcome.refused())
                note_line_refusal(*server, *range, outcome.reply.as_string());
        });
}

store::Request<ReadyReply> ready(ServerPtr server, Deadline not_after)
{
    auto read_counter = execute(server, resp::Command("EXISTS", server->fence()), std::move(not_after));
    auto const outcome = co_await read_counter;
    if (outcome.reply.is_integer())
        co_return Ready{};
    co_return failure_of(*server, outcome, server->fence());
}

store::Request<ReadyReply> ready_to_vote(ServerPtr server, Deadline not_after)
{
    auto read_time = execute(server, resp::Command("TIME"), std::move(not_after));
    auto const outcome = co_await read_time;
    if (outcome.reply.is_list())
        co_return Ready{};
    co_return failure_of(*server, outcome, "the server's time");
}

} // namespace tenure::redis
