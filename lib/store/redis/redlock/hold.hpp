// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

#include <vector>

namespace tenure::redlock
{

/** Extends the claims on all nodes. Of each claim a majority decides, and its time counts from the earliest of its
 * requests. A node that lost a claim (a restart without its data) gets it back once a majority has proven it. */
void renew(QuorumPtr const& quorum, std::vector<RenewRequest> requests, RenewHandler handler);

/** Frees the key on all nodes, and answers as soon as a majority has told. */
void release(QuorumPtr const& quorum, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Frees what bears the owner on all nodes, and answers as soon as a majority has. */
void withdraw(QuorumPtr const& quorum, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

/** Replaces the owner on all nodes that bear it. */
void evict(QuorumPtr const& quorum, EvictRequest request, ReplyHandler<EvictReply> handler);

} // namespace tenure::redlock
