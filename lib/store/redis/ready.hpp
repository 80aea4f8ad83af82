// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::redis
{

/** Looks whether the counter of fencing tokens is there, which needs a connection, the login, and the permission for
 * that key. That it is not there yet is all right. */
void ready(NodePtr const& node, Deadline not_after, ReplyHandler<ReadyReply> handler);

/** The same of a server that grants together with others and has no such counter: asks for its time. */
void ready_together(NodePtr const& node, Deadline not_after, ReplyHandler<ReadyReply> handler);

} // namespace tenure::redis
