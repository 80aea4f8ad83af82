// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend.hpp>

namespace tenure::redis
{

/** Frees whichever keys of the range bear the owner, page by page, and announces it. */
void withdraw(NodePtr const& node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

} // namespace tenure::redis
