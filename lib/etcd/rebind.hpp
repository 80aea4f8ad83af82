// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "messages.hpp"
#include "node.hpp"

#include <tenure/backend.hpp>

#include <cstdint>

namespace tenure::etcd
{

/** Takes note of the lease that the key was seen to bear, which is its own or a successor. False if it is neither, or
 * somebody else wrote the key: then it is not the holder's any more. */
[[nodiscard]] bool recognize(Node& node, Holding& holding, KeyValue const& seen);

/** A renewal that is known now counts from here: while the key may yet move to another lease, not for longer than that
 * one lasts. */
[[nodiscard]] Instant since_when(Holding const& holding, std::chrono::milliseconds ttl, Instant renewed);

/** Renews a claim by moving its key to a new lease: one that has another ttl, since a server's lease keeps its own for
 * good. */
void renew_with_new_lease(NodePtr const& node, RenewRequest request, ReplyHandler<RenewReply> handler);

/** Moves the key to a new lease if its own was granted before the leader of this term was elected, or an earlier move
 * is open. Old servers end leases for a leader that stood still, goes on, and does not know of the renewals at its
 * successor; of a lease that the successor granted it cannot know (docs/etcd-protocol.md). Nobody waits for it: if it
 * fails, the next renewal tries again. */
void leave_earlier_lease(NodePtr const& node, RenewRequest const& renewed, std::uint64_t raft_term);

} // namespace tenure::etcd
