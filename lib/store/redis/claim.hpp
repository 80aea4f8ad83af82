// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How keys are claimed on one server: one claim over its whole range, several single keys in one transaction, several
// keys of one pool by one call. claims.hpp decides which.
#pragma once

#include "replies.hpp"
#include "server_context.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** A claim that is to be answered. */
struct PendingClaim {
    ClaimRequest request;
    ReplyHandler<ClaimReply> handler;
};
using PendingClaims = std::vector<PendingClaim>;

/** Claims the first free key of the range: one command for a named key without fencing, else one script call for each
 * page of the range until one is free. An owner whose earlier attempt is unanswered is looked for in the whole range
 * first. */
void claim(ServerPtr const& server, ClaimRequest&& request, ReplyHandler<ClaimReply> handler);

/** Goes on with a claim whose key a SET has found held. */
void claim_held_key(ServerPtr const& server, ClaimRequest&& request, ReplyHandler<ClaimReply> handler);

/** True where `SET NX` suffices to claim: a first attempt at a single key, which an own claim cannot hold yet. One that
 * waits in line needs the script, since it most likely finds the key held. */
[[nodiscard]] bool may_claim_by_set(ServerContext const& server, ClaimRequest const& request);

/** Claims single keys with fencing, for which `may_claim_by_set` is true, in one transaction: a `SET NX` for each, and
 * a draw of the token that all of its grants share.
 *  @param answered  called when the transaction is answered, before any of the handlers */
void claim_in_transaction(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered);

/** Claims keys of one pool of one page for several owners by one script call: first attempts that want
 * the same.
 *  @param answered  called when the call is answered, before any of the handlers */
void claim_from_pool(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered);

// -- what all of them share --

/** A call of one of the claiming scripts (see scripts.hpp): all but its keys.
 *  @param survey     a busy answer shall tell when the first key expires
 *  @param others     the further owners of `first_free_each`
 *  @param may_close  the script is one of those for after a failover */
[[nodiscard]] ScriptCall claim_call(
    ServerContext const& server, Script const& script, ClaimRequest const& request, bool survey,
    std::span<PendingClaim const> others, bool may_close);

/** When a call for all of them must have been sent: the earliest of their deadlines. What the call drops
 * for the sake of one is sent again. */
[[nodiscard]] Deadline earliest_deadline(PendingClaims const& claims);

/** Answers each of the claims. */
template <class ReplyTo>
void answer_all(PendingClaims& claims, ReplyTo reply_to)
{
    for (auto& [request, handler] : claims)
        std::move(handler)(ClaimReply(reply_to(request)));
}

/** The grant, unless the replicas that it was to rest on do not have it. */
[[nodiscard]] ClaimReply
confirmed(ServerContext const& server, KeyRange const& range, Granted granted, Outcome const& outcome);

/** The server refused a claim, which wrote nothing. */
[[nodiscard]] Failure refuse_claim(ServerContext& server, resp::Value const& error, std::string_view what);

/** As `failure_of`, of a call that claims. */
[[nodiscard]] Failure failure_of_claim(ServerContext& server, Outcome const& outcome, KeyRange const& range);

/** The server answers that claims are closed for now. */
[[nodiscard]] Busy closed_reply(ServerContext& server, PageClosed const& closed);

/** Of a claim that waits in line: the server may have refused the place. */
void note_place(ServerContext& server, KeyRange const& range, PageHeld const& held);

} // namespace tenure::redis
