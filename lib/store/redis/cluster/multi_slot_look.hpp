// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the operations on a range that spreads over the nodes are made of.
#pragma once

#include "slot_nodes.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/backend.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::redis
{

/** Awaits the replies to requests that leave together, to many nodes, and come in any order, some of them never. */
class Gathering : public std::enable_shared_from_this<Gathering>
{
public:
    /** @param done  called once, later than `wait` */
    Gathering(std::shared_ptr<SlotNodes> nodes, std::function<void()> done)
        : nodes_(std::move(nodes))
        , done_(std::move(done))
        , limit_(nodes_->runtime())
    {
    }

    /** The handler of one more request. `take` gets the reply, unless it comes after the deadline. */
    template <class Take>
    [[nodiscard]] auto handler(Take take)
    {
        ++open_;
        return [self = shared_from_this(), take = std::move(take)](auto&&... reply) {
            if (self->done_ == nullptr)
                return;
            take(std::forward<decltype(reply)>(reply)...);
            if (--self->open_ == 0)
                self->end();
        };
    }

    /** All requests have left: their replies are awaited until the deadline. */
    void wait(Instant deadline = Instant::max())
    {
        if (open_ == 0)
            nodes_->runtime().post([self = shared_from_this()] { self->end(); });
        else if (deadline != Instant::max())
            limit_.at(deadline, weak_from_this(), &Gathering::end);
    }

private:
    void end()
    {
        limit_.cancel();
        if (auto const done = std::exchange(done_, nullptr))
            done();
    }

    std::shared_ptr<SlotNodes> nodes_;
    /// null: all is over
    std::function<void()> done_;
    std::size_t open_ = 0;
    Timer limit_;
};

/** What a look saw of one key. */
enum class KeyLook {
    free,
    /// a value is there: another owner's, or another type
    held,
    /// the value is the owner searched for
    own,
    /// its node did not answer, or refused
    unreadable
};

struct Looks {
    /// for each key asked for, in order
    std::vector<KeyLook> keys;
    /// why one was unreadable: of the first of them
    std::optional<Failure> why;
};

/** Some keys of a range that spreads over the nodes. */
struct MultiSlotPart {
    KeyRangePtr range;
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    [[nodiscard]] std::uint32_t end() const noexcept { return first + count; }
};

/** So many keys of the range from `first` on, or the rest. The largest pool must not fill one turn of the loop with its
 * keys. */
[[nodiscard]] inline MultiSlotPart part_of(KeyRangePtr const& range, std::uint32_t first, std::uint32_t most)
{
    return {range, first, std::min(most, range->count - first)};
}

// As many keys as are looked at in one turn of the loop.
inline constexpr std::uint32_t largest_look = 4096;

/** Looks at keys that are at many nodes, all at once: one EXISTS for each, or where the owner is searched for a script.
 * No value is read: a value of another program may exceed the limit of a reply, which ends the connection.
 *
 *  @param deadline  keys without an answer then are unreadable
 *  @param searching  for the owner: nodes that are known to be out of reach are waited for. false: no key is `own` */
void look_at(
    std::shared_ptr<SlotNodes> const& nodes, MultiSlotPart const& part, std::string const& owner, Deadline deadline,
    bool searching, std::function<void(Looks)> handler);

/** When the first of the keys expires, and how many never do: of those that could be looked at
 * before the deadline. */
struct MultiSlotSurvey {
    std::optional<std::chrono::milliseconds> earliest_expiry;
    std::uint32_t foreign = 0;
    /// how many those are
    std::uint32_t seen = 0;
};
void survey(
    std::shared_ptr<SlotNodes> const& nodes, KeyRangePtr const& range, Deadline deadline,
    std::function<void(MultiSlotSurvey)> handler);

} // namespace tenure::redis
