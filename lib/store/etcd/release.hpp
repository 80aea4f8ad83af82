// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

#include <string>

namespace tenure::etcd
{

/** Deletes the key if it is the one that was claimed; or binds it to a lease of its own, if it is to rest. */
void release(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** What a transaction does that ends a claim: deletes the key, or, where `rest` is a lease, lets it rest under that. */
void end_claim(Transaction& transaction, std::string const& key, std::string const& owner, LeasePtr const& rest);

/** The claim's key has left the lease that it was bound to: that is free for another claim, unless it is not known
 * which one it was. */
void lease_is_free(Node& node, Claim const& claim);

/** A transaction that does something only if the key is still the claim's.
 *
 *  The revision of its last change says both that the key is the one that was claimed and that nobody wrote to it, as
 * who evicts does. It is not known while the key may have been bound to another lease. */
[[nodiscard]] Transaction if_still_held(Claim const& claim, std::string const& key);

/** Ends whatever attempts of the owner have left. */
void withdraw(NodePtr const& node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

} // namespace tenure::etcd
