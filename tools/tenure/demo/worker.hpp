// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "demo/board.hpp"

#include <tenure/slot_pool.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>

namespace tenure::tool
{

/** One worker of the demo: takes a slot, works under it for a moment, gives it back, again and again until the board is
 * closed. When its token is cancelled it stops working and takes another slot.
 *
 *  @param board  outlives the operation */
[[nodiscard]] asio::awaitable<void> work_for_demo(SlotPool pool, DemoBoard& board, std::uint32_t index);

} // namespace tenure::tool
