// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/zookeeper/session/ensemble.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::zookeeper
{

/** Reads the claim's node behind the session's next regular write: that proves the session, and this the owner. */
void renew(EnsemblePtr const& ensemble, RenewRequest request, ReplyHandler<RenewReply> handler);

/** Reads the claim's node, and removes it if it is the one that was created, and still bears the owner. */
void release(EnsemblePtr const& ensemble, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** The same for whatever this process may have created for the owner. */
void withdraw(EnsemblePtr const& ensemble, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

} // namespace tenure::zookeeper
