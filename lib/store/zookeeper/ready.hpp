// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/zookeeper/session/ensemble.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::zookeeper
{

/** Ready once the session that looks is connected. The server takes any digest login: a wrong password shows only at a
 * node that the user may not use. */
void ready(EnsemblePtr const& ensemble, Deadline not_after, ReplyHandler<ReadyReply> handler);

} // namespace tenure::zookeeper
