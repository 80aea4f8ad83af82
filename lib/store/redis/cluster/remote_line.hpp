// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The line of waiters of a range whose line is in another hash slot than its keys, out of reach of the scripts that
// claim and free the keys.
#pragma once

#include "runtime/names.hpp"
#include "slot_contexts.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace tenure::redis
{

/** One claim that does not touch the line. */
using ClaimAttempt = std::function<void(ClaimRequest, ReplyHandler<ClaimReply>)>;

/** Claims a key for a waiter of a range whose line is in another hash slot than its keys.
 *
 *  If the attempt finds all keys held, the store joins the line, and tries again after the answer: a release between
 *  the attempt and the line did not name this store, but its key is free by now. A later release finds the name in the
 *  line. A grant leaves the line. */
[[nodiscard]] store::Request<ClaimReply>
claim_in_line(std::shared_ptr<SlotContexts> slots, ClaimAttempt attempt, ClaimRequest request);

/** True if the line of the range is in another hash slot than this key: a release must be announced by `announce`. */
[[nodiscard]] bool has_remote_line(KeyRange const& range, std::uint32_t index);

/** Notifies the waiters of a range whose line is in another hash slot that `freed` of its keys were freed. Best effort,
 *  within about a second. Gives true if the name of another store left the line. Keys of one range that were freed in
 *  one turn of the loop share a call.
 *
 *  A name leaves the line and is published only after the deletion of its key was answered: the named store claims at
 *  once, and must find the key free. If the deletion was not answered, no name leaves the line: the waiters' timers and
 *  polls find the key.
 *
 *  @param index  of one of these keys */
[[nodiscard]] store::Step<bool>
announce(std::shared_ptr<SlotContexts> slots, KeyRangePtr range, std::uint32_t index, std::uint32_t freed);

} // namespace tenure::redis
