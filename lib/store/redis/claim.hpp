// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims on one server: one claim over its whole range, several single keys in one transaction, or several keys of one
// pool in one call. claims.hpp chooses among them.
#pragma once

#include "replies.hpp"
#include "server_context.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/claim_window.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** A claim and the handler of its answer. */
struct PendingClaim {
    ClaimRequest request;
    ReplyHandler<ClaimReply> handler;
    /// kept until the answer: another claim begins then
    store::ClaimWindow::Place place = {};
    /// of its next command: a claim that has begun goes before new ones
    resp::Urgency urgency = resp::Urgency::first;
};
using PendingClaims = std::vector<PendingClaim>;

/** Takes a place among the claims that the server answers now. False: there is none, and the claim must wait. */
[[nodiscard]] bool take_place(ServerContext& server, PendingClaim& claim);

/** Calls `begin` when the claim has a place. If it gets none before its deadline, the claim is answered. */
void await_place(ServerPtr const& server, PendingClaim claim, OneShot<void(PendingClaim&&)> begin);

/** Claims the first free key of the range. A named key without fencing takes one command; other ranges take one script
 *  call per page until a key is free. If an earlier attempt of the owner is unanswered, the whole range is searched
 *  for it first. */
void claim(ServerPtr const& server, PendingClaim&& claim);

/** Continues a claim after a SET that found its key held. */
void claim_held_key(ServerPtr const& server, PendingClaim&& claim);

/** True if `SET NX` suffices: a first attempt at a single key, which with fencing also needs a transaction. A claim
 * that waits in line uses the script, because it probably finds the key held. */
[[nodiscard]] bool may_claim_by_set(ServerContext const& server, ClaimRequest const& request);

/** Claims single keys with fencing in one transaction: a `SET NX` for each key, and one token that all grants share.
 *  Requires `may_claim_by_set` for each claim.
 *  @param answered called when the transaction is answered, before the handlers */
void claim_in_transaction(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered);

/** Claims keys of a one-page pool for several owners in one script call. Requires first attempts with equal
 *  parameters.
 *  @param answered  called when the call is answered, before the handlers */
void claim_from_pool(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered);

// -- shared by all kinds of claims --

/** Makes a call of a claiming script (see scripts.hpp) without its keys.
 *  @param survey     a busy answer shall include the first expiry
 *  @param others     the further owners of `first_free_each`
 *  @param may_close  the script is one that checks for a failover */
[[nodiscard]] ScriptCall claim_call(
    ServerContext const& server, Script const& script, ClaimRequest const& request, bool survey,
    std::span<PendingClaim const> others, bool may_close);

/** The deadline for sending a call for several claims: the earliest of theirs. Claims that the call drops are sent
 *  again. */
[[nodiscard]] Deadline earliest_deadline(PendingClaims const& claims);

/** Of a call that is about to be written: notes the progress of its claims, and takes out those that are too late. They
 *  are answered after the caller has returned. */
void drop_late(ServerContext& server, PendingClaims& claims, Instant now);

/** Calls the handler of each claim. */
template <class ReplyTo>
void answer_all(PendingClaims& claims, ReplyTo reply_to)
{
    for (auto& claim : claims)
        std::move(claim.handler)(ClaimReply(reply_to(claim.request)));
}

/** Makes the reply to a grant: a failure if too few replicas have acknowledged it. */
[[nodiscard]] ClaimReply
confirmed(ServerContext const& server, KeyRange const& range, Granted granted, Outcome const& outcome);

/** Makes the failure of a claim that the server refused without writing. */
[[nodiscard]] Failure refuse_claim(ServerContext& server, resp::Value const& error, std::string_view what);

/** As `failure_of`, for a claim. */
[[nodiscard]] Failure failure_of_claim(ServerContext& server, Outcome const& outcome, KeyRange const& range);

/** Makes the reply while claims are closed after a failover. */
[[nodiscard]] Busy closed_reply(ServerContext& server, PageClosed const& closed);

/** Records an error of the line, if the server refused the waiter's place in it. */
void note_place(ServerContext& server, KeyRange const& range, PageHeld const& held);

} // namespace tenure::redis
