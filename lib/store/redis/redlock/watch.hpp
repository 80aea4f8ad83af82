// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

#include <functional>
#include <memory>

namespace tenure::redlock
{

/** Watches the range on all nodes. A release is heard from each of them, one after the other: one hint is passed on,
 * when a majority has told or a moment after the first. */
[[nodiscard]] std::unique_ptr<Watch>
watch(QuorumPtr const& quorum, KeyRangePtr const& range, std::function<void(WatchEvent)> handler);

} // namespace tenure::redlock
