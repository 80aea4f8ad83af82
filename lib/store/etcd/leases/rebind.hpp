// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/http/messages.hpp"
#include "store/etcd/node.hpp"

#include <tenure/backend/backend.hpp>

#include <cstdint>

namespace tenure::etcd
{

/** Takes note of the lease that the key was seen to bear, which is its own or a successor. False if it is neither, or
 * somebody else wrote the key: then it is not the holder's any more. */
[[nodiscard]] bool recognize(Node& node, Holding& holding, KeyValue const& seen);

/** Up to when a renewal that was written at that instant is good: while the key may yet move to another lease, not for
 * longer than that one lasts, less the key's quarantine. */
[[nodiscard]] Instant good_until(Claim const& claim, Instant renewed, std::chrono::milliseconds ttl);

/** Renews a claim by moving its key to a new lease: one that has another ttl, since a server's lease keeps its own for
 * good. */
void renew_with_new_lease(NodePtr const& node, RenewRequest request, ReplyHandler<RenewReply> handler);

/** The same for a renewal that counts for less than it should since an earlier move is open, which this one makes void.
 * If it comes to nothing, the renewal is worth what it is without. */
void settle(NodePtr const& node, RenewRequest request, RenewReply without, ReplyHandler<RenewReply> handler);

/** Moves the key to a new lease if its own was granted before the leader of this term was elected. Old servers end
 * leases for a leader that stood still, goes on, and does not know of the renewals at its successor; of a lease that
 * the successor granted it cannot know (docs/etcd-protocol.md). Nobody waits for it: if it fails, a later renewal tries
 * again. */
void leave_lease_of_earlier_term(NodePtr const& node, RenewRequest const& renewed, std::uint64_t raft_term);

} // namespace tenure::etcd
