// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The line of waiters of a range whose line is in another hash slot than its keys, out of reach of the scripts that
// claim and free the keys.
#pragma once

#include "runtime/names.hpp"
#include "slot_contexts.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/key_range.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/** Notifies the waiters of ranges whose line is in another hash slot than the freed keys. Best effort. Keys of one
 *  range that were freed in one turn of the loop share a call.
 *
 *  A name leaves the line and is published only after the deletion of its key was answered: the named store claims at
 *  once, and must find the key free. If the deletion was not answered, no name leaves the line: the waiters' timers and
 *  polls find the key. */
class Announcer : public std::enable_shared_from_this<Announcer>
{
public:
    /// called with true if the name of another store left the line
    using Handler = OneShot<void(bool named_another)>;

    explicit Announcer(std::shared_ptr<SlotContexts> slots)
        : slots_(std::move(slots))
    {
    }

    /** True if a release of this key must be announced by this class. */
    [[nodiscard]] static bool is_needed(KeyRange const& range, std::uint32_t index);

    /** Announces that `freed` keys of the range were freed. The handler is called within about a second.
     *  @param index  of one of these keys */
    void announce(KeyRangePtr range, std::uint32_t index, std::uint32_t freed, Handler handler);

private:
    struct Freed {
        KeyRangePtr range;
        std::uint32_t keys = 0;
        /// the node of a freed key publishes within shards; used while the channel's node is not connected
        bool in_shard = false;
        std::vector<Handler> handlers;
    };
    using FreedByStem = std::map<std::string, Freed>;

    void flush(FreedByStem all);

    std::shared_ptr<SlotContexts> slots_;
    /// keys freed in this turn; owned by the posted task, because the handlers may own this object and a destroyed
    /// context runs no task
    std::weak_ptr<FreedByStem> pending_;
};

} // namespace tenure::redis
