// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::redis
{

/** Carries out a release with `keep_for`. Nobody in line is named, and nothing is published: the key does not free. */
void detach(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

} // namespace tenure::redis
