// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claim of one key on one of several servers that decide by majority.
#include "claim.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/replies.hpp"

#include <store/request.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

using store::Request;
using store::Step;

/** Sends the commands in one write. Either all are answered in time or none counts: a grant needs its token. */
Step<std::vector<Outcome>>
ask(ServerPtr const& server, std::vector<resp::Command> commands, Deadline not_after, resp::Urgency urgency)
{
    auto const count = commands.size();
    auto execute = [server, commands = std::move(commands), not_after = std::move(not_after),
                    urgency](std::size_t index, OutcomeHandler handler) mutable {
        auto& command = commands[index];
        if (index + 1 < commands.size())
            command.leave_with_next();
        command.set_urgency(urgency);
        server->channel()->execute(std::move(command), not_after, std::move(handler));
    };
    return store::all_of<Outcome>(count, std::move(execute));
}

/** Runs the script that looks for the owner's key first. It draws no token. */
Step<ClaimReply> search(ServerPtr const& server, ClaimRequest request, resp::Urgency urgency)
{
    request.fencing = false;
    return Step<ClaimReply>([server, request = std::move(request), urgency](ReplyHandler<ClaimReply> handler) mutable {
        claim(server, {std::move(request), std::move(handler), {}, urgency});
    });
}

/** @param left  the answer to PTTL */
Busy held(Outcome const& left)
{
    if (left.delivery != Delivery::answered || !left.reply.is_integer())
        return {};
    // -2: the key is free by now
    auto const ms = left.reply.as_integer();
    if (ms == -1)
        return {std::nullopt, true};
    return {at_most_a_year(std::max<std::int64_t>(ms, 0)), false};
}

/** Makes the reply for a taken key. Without a token to begin from, the caller must give the key back.
 *  @param token  the answers to GET of the fence key and to TIME */
ClaimReply granted(
    ServerContext& server, std::string const& fence_key, std::span<Outcome const, 2> token,
    std::chrono::milliseconds ttl, Instant since)
{
    for (auto const& outcome : token) {
        if (!outcome.succeeded()) {
            auto why = failure_of(server, outcome, fence_key);
            return Failure::unknown(why.error, std::move(why.detail));
        }
    }
    auto const& fence = token[0].reply;
    auto const last = fence.is_null() ? std::optional<std::uint64_t>(0) : read_token(fence);
    auto const now = read_server_time(token[1].reply);
    if (!last || !now)
        return malformed_reply(server, fence_key);
    return Granted{0, std::max(*last, static_cast<std::uint64_t>(now->count())), ttl, since, nullptr};
}

/** Sends `SET NX PX`, `PTTL`, `GET` of the fence key and `TIME` in one write, at a tenth of the cost of a script. One
 *  atomic step is not needed: only the holder of the key changes the fence key. An owner that may already hold the key
 *  is searched for by the script instead of SET and PTTL.
 *  @param place  of `request`, kept until the answer */
Request<ClaimReply> vote(ServerPtr server, ClaimRequest request, store::ClaimWindow::Place place, resp::Urgency urgency)
{
    (void)place;
    auto const key = request.range->key(0);
    auto const fence = fence_key(key);
    std::vector<resp::Command> commands;
    std::optional<Instant> held_since;
    if (request.earliest_attempt) {
        auto searching = search(server, request, std::exchange(urgency, resp::Urgency::step));
        auto reply = co_await searching;
        auto const* const found = std::get_if<Granted>(&reply);
        if (found == nullptr)
            co_return reply;
        held_since = found->since;
    } else {
        commands.emplace_back("SET", key, request.owner, "NX", "PX", request.lifetime().count());
        commands.emplace_back("PTTL", key);
    }
    commands.emplace_back("GET", fence);
    commands.emplace_back("TIME");
    auto asked = ask(server, std::move(commands), request.not_after, urgency);
    auto const outcomes = co_await asked;
    auto const token = std::span(outcomes).last<2>();
    if (held_since)
        co_return granted(*server, fence, token, request.ttl, *held_since);
    auto const& set = outcomes.front();
    if (set.succeeded() && set.reply.is_ok())
        co_return granted(*server, fence, token, request.ttl, set.since);
    if (set.succeeded() && set.reply.is_null())
        co_return held(outcomes[1]);
    co_return failure_of(*server, set, key);
}

/** @param pending  has its place */
void begin_vote(ServerPtr const& server, PendingClaim&& pending)
{
    if (!pending.request.fencing) {
        claim(server, std::move(pending));
        return;
    }
    server->channel()->note_ttl(pending.request.ttl);
    auto answer = std::move(pending.handler);
    vote(server, std::move(pending.request), std::move(pending.place), pending.urgency).start(std::move(answer));
}

} // namespace

void claim_vote(ServerPtr const& server, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    PendingClaim pending{std::move(request), std::move(handler)};
    if (take_place(*server, pending))
        begin_vote(server, std::move(pending));
    else
        await_place(
            server, std::move(pending), [server](PendingClaim&& claim) { begin_vote(server, std::move(claim)); });
}

} // namespace tenure::redis
