// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slot_nodes.hpp"

#include "store/redis/operations.hpp"

#include <tenure/backend/backend.hpp>

#include <memory>

namespace tenure::redis
{

/** Looks at all keys of a range that spreads over the nodes, and withdraws from those that bear the owner. Tells also
 * how many keys were freed, as far as that was answered. */
void spread_withdraw(std::shared_ptr<SlotNodes> const& nodes, WithdrawRequest request, CountedWithdrawal handler);

} // namespace tenure::redis
