// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations on one server other than claiming (claim/claim.hpp), renewing and releasing (renewals.hpp, releases.hpp).
#pragma once

#include "backend.hpp"
#include "runtime/names.hpp"
#include "server_context.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>

#include <cstdint>

namespace tenure::redis
{

/** See `VoterBackend::accept_token`. */
void accept_token(ServerPtr const& server, TokenRequest request, ReplyHandler<TokenReply> handler);

/** Executes a release with `keep_for`. It names no waiter and publishes nothing, because the key stays taken. */
void detach(ServerPtr const& server, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Frees all keys of the range that have the owner, page by page, and notifies waiters. */
void withdraw(ServerPtr const& server, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

/** Handler that also gets the number of freed keys, as far as the server has answered. */
using CountedWithdrawal = OneShot<void(WithdrawReply&& reply, std::uint32_t freed)>;
void withdraw_counted(ServerPtr const& server, WithdrawRequest request, CountedWithdrawal handler);

/** Removes this store's name from the line of the range. Best effort: the answer is ignored, and no first connection
 *  is opened for it. */
void leave_line(ServerPtr const& server, KeyRangePtr range);

/** The most keys of one call of `inspect`. Each may have up to 1 KiB of a foreign value. */
inline constexpr std::uint32_t keys_per_inspection = 512;

/** Reads the holders of the range, page by page. */
void inspect(ServerPtr const& server, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** As `inspect`, with the last token from the fence key of each key. */
void inspect_with_tokens(
    ServerPtr const& server, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Replaces the given owner by `evicted/<who>` for the rest of its ttl. */
void evict(ServerPtr const& server, EvictRequest request, ReplyHandler<EvictReply> handler);

/** Checks the connection, the login and the permission for the counter of fencing tokens. The counter need not exist
 *  yet. */
void ready(ServerPtr const& server, Deadline not_after, ReplyHandler<ReadyReply> handler);

/** As `ready`, for a server that votes and has no such counter: reads its time. */
void ready_to_vote(ServerPtr const& server, Deadline not_after, ReplyHandler<ReadyReply> handler);

} // namespace tenure::redis
