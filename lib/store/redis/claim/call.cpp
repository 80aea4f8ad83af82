// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parts shared by all kinds of claims: the script call, and the meaning of its answers.
#include "claim.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

/// A claim whose turn did not come: the server may be the cause.
Failure not_begun(ServerContext& server, Failure failure)
{
    if (!failure.was_dropped() || server.channel()->connected())
        return failure;
    return Failure::not_sent(
        errc::store_unavailable, server.where() + ": not connected: " + server.channel()->last_error());
}

} // namespace

bool take_place(ServerContext& server, PendingClaim& claim)
{
    auto* const window = server.channel()->claims();
    if (window == nullptr || !window->has_room())
        return false;
    claim.place = window->begin_now();
    return true;
}

void await_place(ServerPtr const& server, PendingClaim claim, OneShot<void(PendingClaim&&)> begin)
{
    struct Waiting {
        PendingClaim claim;
        OneShot<void(PendingClaim&&)> begin;
    };
    auto const waiting = std::make_shared<Waiting>(std::move(claim), std::move(begin));
    auto const& deadline = waiting->claim.request.not_after;
    auto const wait_for_turn = [server, waiting](store::ClaimWindow& window) {
        window.begin(waiting->claim.request.not_after, [server, waiting](auto&& turn) {
            if (auto* const failure = std::get_if<Failure>(&turn)) {
                std::move(waiting->claim.handler)(ClaimReply(not_begun(*server, std::move(*failure))));
                return;
            }
            waiting->claim.place = std::get<store::ClaimWindow::Place>(std::move(turn));
            std::move(waiting->begin)(std::move(waiting->claim));
        });
    };
    if (auto* const window = server->channel()->claims()) {
        wait_for_turn(*window);
        return;
    }
    server->channel()->await_server(deadline, [server, waiting, wait_for_turn] {
        if (auto* const window = server->channel()->claims())
            wait_for_turn(*window);
        else
            // its first command ends with the reason
            std::move(waiting->begin)(std::move(waiting->claim));
    });
}

void drop_late(ServerContext& server, PendingClaims& claims, Instant now)
{
    PendingClaims late;
    std::erase_if(claims, [&](PendingClaim& claim) {
        auto const& deadline = claim.request.not_after;
        if (!deadline.over(now)) {
            deadline.progressed(now);
            return false;
        }
        late.push_back(std::move(claim));
        return true;
    });
    if (!late.empty())
        server.runtime().post([late = std::move(late)]() mutable {
            answer_all(late, [](ClaimRequest const&) { return Failure::dropped(); });
        });
}

ScriptCall claim_call(
    ServerContext const& server, Script const& script, ClaimRequest const& request, bool survey, bool with_line,
    std::span<PendingClaim const> others, bool may_close)
{
    ScriptCall call;
    call.script = &script;
    call.not_after = request.not_after;
    auto const flag = [](bool is_set) { return std::string_view(is_set ? "1" : ""); };
    if (request.fencing)
        call.names.add(server.fence_of(*request.range));
    if (with_line)
        call.names.add(line_of(*request.range));
    call.values.add_all(
        request.owner, request.lifetime().count(), flag(survey), flag(request.fencing),
        with_line ? std::string_view(server.waiter()) : std::string_view(),
        flag(with_line && request.waits == Waits::in_front));
    for (auto const& other : others)
        call.values.add(other.request.owner);
    if (may_close) {
        call.names.add(server.marker());
        call.with_run_id = true;
    }
    return call;
}

Deadline earliest_deadline(PendingClaims const& claims)
{
    if (claims.size() == 1)
        return claims.front().request.not_after;
    auto const earliest =
        std::ranges::min_element(claims, {}, [](PendingClaim const& claim) { return claim.request.not_after.at(); });
    return earliest->request.not_after.at();
}

ClaimReply confirmed(ServerContext const& server, KeyRange const& range, Granted granted, Outcome const& outcome)
{
    if (outcome.shortfall == nullptr)
        return granted;
    auto const& [error, missing, fatal, uncounted] = *outcome.shortfall;
    auto detail = server.where() + ": " + range.key(granted.index) + ": " + missing;
    // a retry finds the claim of the owner and counts the replicas again
    if (uncounted)
        return Failure::unknown(error, std::move(detail));
    return Unconfirmed{std::move(granted), error, std::move(detail), fatal};
}

Failure refuse_claim(ServerContext& server, resp::Value const& error, std::string_view what, std::string const& counter)
{
    auto understood = classify(error.as_string());
    // a claim works on any type of a lock's key, so only the counter can have the wrong type
    if (understood.error == errc::key_conflict)
        understood.advice = "another program wrote " + counter +
                            ", which counts fencing tokens: delete that key, and tokens " +
                            (counter == server.fence() ? "go on from the server's clock" : "begin anew");
    return server.refuse(understood, what);
}

Failure failure_of_claim(ServerContext& server, Outcome const& outcome, KeyRange const& range)
{
    return outcome.delivery == Delivery::answered
               ? refuse_claim(server, outcome.reply, range.describe(), server.fence_of(range))
               : outcome.undelivered();
}

Busy closed_reply(ServerContext& server, PageClosed const& closed)
{
    server.note_closed(closed.opens_in);
    return {closed.opens_in, false};
}

void add(Survey& seen, PageHeld const& held)
{
    seen.foreign += held.foreign.value_or(0);
    auto const& expiry = held.earliest_expiry;
    if (expiry && (!seen.earliest_expiry || *expiry < *seen.earliest_expiry))
        seen.earliest_expiry = expiry;
}

void note_place(ServerContext& server, KeyRange const& range, PageHeld const& held)
{
    // after any error but a missing permission, the waiter relies on its timer this time
    if (!held.line_error.empty())
        note_line_refusal(server, range, held.line_error);
}

} // namespace tenure::redis
