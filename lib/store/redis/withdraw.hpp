// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>

#include <cstdint>

namespace tenure::redis
{

/** Frees whichever keys of the range bear the owner, page by page, and tells the waiters. */
void withdraw(NodePtr const& node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

/** The same, also telling how many keys were freed, as far as that was answered. */
using CountedWithdrawal = OneShot<void(WithdrawReply&& reply, std::uint32_t freed)>;
void withdraw_counted(NodePtr const& node, WithdrawRequest request, CountedWithdrawal handler);

} // namespace tenure::redis
