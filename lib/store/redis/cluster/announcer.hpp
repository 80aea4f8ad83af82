// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slot_nodes.hpp"

#include <tenure/backend/one_shot.hpp>
#include <tenure/key_range.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::redis
{

/** Tells the waiters of ranges whose line is in another hash slot than the freed keys, so that the script which frees
 * them cannot. Best effort; what was freed of one range in one turn of the loop shares a call.
 *
 *  A name leaves the line, and is published, only after the deletion of its key was answered: the named store asks at
 * once, and must find the key free. Where the deletion was not answered, nobody is named: the waiters' timers and polls
 * find the key. */
class Announcer : public std::enable_shared_from_this<Announcer>
{
public:
    /// told whether the name of another store left the line
    using Handler = OneShot<void(bool named_another)>;

    explicit Announcer(std::shared_ptr<SlotNodes> nodes)
        : nodes_(std::move(nodes))
    {
    }

    /** True if a release of this key has to be announced here. */
    [[nodiscard]] static bool is_needed(KeyRange const& range, std::uint32_t index);

    /** Tells that so many keys of the range were freed. The handler is called within about a second, whatever comes.
     *  @param index  of one of these keys */
    void announce(KeyRangePtr range, std::uint32_t index, std::uint32_t freed, Handler handler);

private:
    struct Freed {
        KeyRangePtr range;
        std::uint32_t keys = 0;
        /// the node of a freed key announces through shards: what is known while the channel's node is not connected
        bool in_shard = false;
        std::vector<Handler> handlers;
    };
    using FreedByStem = std::map<std::string, Freed>;

    void flush(FreedByStem all);
    void tell(std::string const& stem, Freed freed);

    std::shared_ptr<SlotNodes> nodes_;
    /// of this turn; owned by the task that tells, for handlers may own this, and a context that is destroyed runs no
    /// task
    std::weak_ptr<FreedByStem> pending_;
};

} // namespace tenure::redis
