// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend.hpp>

namespace tenure::etcd
{

/** Deletes the key if it is the one that was claimed. */
void release(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Ends whatever attempts of the owner have left. */
void withdraw(NodePtr const& node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

} // namespace tenure::etcd
