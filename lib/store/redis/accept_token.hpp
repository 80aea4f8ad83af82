// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"
#include "node_backend.hpp"

namespace tenure::redis
{

void accept_token(NodePtr const& node, TokenRequest request, ReplyHandler<TokenReply> handler);

} // namespace tenure::redis
