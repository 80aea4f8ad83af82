// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend.hpp>

#include <string>

namespace tenure::etcd
{

/** Deletes the key if it is the one that was claimed; or binds it to a lease of its own, if it is to rest. */
void release(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** What a transaction does that ends a claim: deletes the key, or, where `rest` is a lease, lets it rest under that. */
void end_claim(Transaction& transaction, std::string const& key, std::string const& owner, LeasePtr const& rest);

/** Ends whatever attempts of the owner have left. */
void withdraw(NodePtr const& node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

} // namespace tenure::etcd
