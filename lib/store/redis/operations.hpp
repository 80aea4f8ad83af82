// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What a backend does on one server besides claiming (claim.hpp), renewing and releasing (renewals.hpp, releases.hpp).
#pragma once

#include "backend.hpp"
#include "server_context.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>

#include <cstdint>

namespace tenure::redis
{

/** See `VoterBackend::claim_together`. */
void claim_vote(ServerPtr const& server, ClaimRequest request, ReplyHandler<ClaimReply> handler);

/** See `VoterBackend::accept_token`. */
void accept_token(ServerPtr const& server, TokenRequest request, ReplyHandler<TokenReply> handler);

/** Carries out a release with `keep_for`. No store in line is named, and nothing is published: the key does not free.
 */
void detach(ServerPtr const& server, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Frees whichever keys of the range bear the owner, page by page, and tells the waiters. */
void withdraw(ServerPtr const& server, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

/** The same, also telling how many keys were freed, as far as that was answered. */
using CountedWithdrawal = OneShot<void(WithdrawReply&& reply, std::uint32_t freed)>;
void withdraw_counted(ServerPtr const& server, WithdrawRequest request, CountedWithdrawal handler);

/** Takes this store's name out of the line of the range. Best effort: the answer is not awaited, and no first
 * connection is made for it. */
void leave_line(ServerPtr const& server, KeyRangePtr range);

/** Tells who holds which key of the range, page by page. */
void inspect(ServerPtr const& server, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** The same, with the last token from each key's own fence key. */
void inspect_with_tokens(
    ServerPtr const& server, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Replaces the owner that was seen by `evicted/<who>` for the rest of its ttl. */
void evict(ServerPtr const& server, EvictRequest request, ReplyHandler<EvictReply> handler);

/** Looks whether the counter of fencing tokens is there, which needs a connection, the login, and the permission for
 * that key. That it is not there yet is all right. */
void ready(ServerPtr const& server, Deadline not_after, ReplyHandler<ReadyReply> handler);

/** The same of a server that grants together with others and has no such counter: asks for its time. */
void ready_to_vote(ServerPtr const& server, Deadline not_after, ReplyHandler<ReadyReply> handler);

} // namespace tenure::redis
