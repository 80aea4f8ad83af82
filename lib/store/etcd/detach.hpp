// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::etcd
{

/** Carries out a release with `keep_for`: the key moves to a lease of that time, or stays with the one it has. */
void detach(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

} // namespace tenure::etcd
