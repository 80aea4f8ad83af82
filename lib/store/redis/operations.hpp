// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations on one server other than claiming (claim/claim.hpp), renewing and releasing (renewals.hpp, releases.hpp).
#pragma once

#include "backend.hpp"
#include "runtime/names.hpp"
#include "server_context.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <cstdint>

namespace tenure::redis
{

/** See `VoterBackend::accept_token`. */
[[nodiscard]] store::Request<TokenReply> accept_token(ServerPtr server, TokenRequest request);

/** Executes a release with `keep_for`. It names no waiter and publishes nothing, because the key stays taken. */
[[nodiscard]] store::Request<ReleaseReply> detach(ServerPtr server, ReleaseRequest request);

/** Reply to a withdrawal, and the number of freed keys, as far as the servers have answered. */
struct CountedWithdrawReply {
    WithdrawReply reply;
    std::uint32_t freed = 0;
};

/** Frees all keys of the range that have the owner, page by page, and notifies waiters. */
[[nodiscard]] store::Request<CountedWithdrawReply> withdraw(ServerPtr server, WithdrawRequest request);

/** Removes this store's name from the line of the range. Best effort: the answer is ignored, and no first connection
 *  is opened for it. */
void leave_line(ServerPtr const& server, KeyRangePtr range);

/** The most keys of one call of `inspect`. Each may have up to 1 KiB of a foreign value. */
inline constexpr std::uint32_t keys_per_inspection = 512;

/** Reads the holders of the range, page by page.
 *  @param with_tokens  reads the last token of each key from its fence key */
[[nodiscard]] store::Request<InspectReply> inspect(ServerPtr server, InspectRequest request, bool with_tokens = false);

/** Scans the names of the server's keys, with the prefix as the pattern: `SCAN`, a thousand keys at a time. */
[[nodiscard]] store::Request<ListReply> list(ServerPtr server, ListRequest request);

/** Replaces the given owner by `evicted/<who>` for the rest of its ttl. */
[[nodiscard]] store::Request<EvictReply> evict(ServerPtr server, EvictRequest request);

/** Checks the connection, the login and the permission for the counter of fencing tokens. The counter need not exist
 *  yet. */
[[nodiscard]] store::Request<ReadyReply> ready(ServerPtr server, Deadline not_after);

/** As `ready`, for a server that votes and has no such counter: reads its time. */
[[nodiscard]] store::Request<ReadyReply> ready_to_vote(ServerPtr server, Deadline not_after);

} // namespace tenure::redis
