// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Probes and surveys of keys in many hash slots, and the collection of their replies.
#pragma once

#include "slot_contexts.hpp"

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

/** Waits for the replies to requests that are sent together to many nodes. Replies come in any order, and some may not
 *  come. */
class Gathering : public std::enable_shared_from_this<Gathering>
{
public:
    /** @param done  called once, after `wait` has returned */
    Gathering(std::shared_ptr<SlotContexts> slots, std::function<void()> done)
        : slots_(std::move(slots))
        , done_(std::move(done))
        , limit_(slots_->runtime())
    {
    }

    /** Makes the handler of one more request. `take` gets the reply, unless it comes after the deadline. */
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

    /** Call it when all requests are sent: waits for their replies until the deadline. */
    void wait(Instant deadline = Instant::max())
    {
        if (open_ == 0)
            slots_->runtime().post([self = shared_from_this()] { self->end(); });
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

    std::shared_ptr<SlotContexts> slots_;
    /// null: finished
    std::function<void()> done_;
    std::size_t open_ = 0;
    Timer limit_;
};

/** State of one key in a probe. */
enum class KeyProbe {
    free,
    /// has another owner, or another type
    held,
    /// has the owner that is searched for
    own,
    /// the node did not answer, or refused
    unreadable
};

struct Probes {
    /// one per requested key, in order
    std::vector<KeyProbe> keys;
    /// why the first unreadable key could not be read
    std::optional<Failure> why;
};

/** Some keys of a spread range. */
struct MultiSlotPart {
    KeyRangePtr range;
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    [[nodiscard]] std::uint32_t end() const noexcept { return first + count; }
};

/** Makes the part of the range with at most `count` keys from `first` on. The largest pool must not fill one turn of
 *  the loop. */
[[nodiscard]] inline MultiSlotPart part_of(KeyRangePtr const& range, std::uint32_t first, std::uint32_t most)
{
    return {range, first, std::min(most, range->count - first)};
}

// The most keys that are probed in one turn of the loop.
inline constexpr std::uint32_t largest_probe = 4096;

/** What a probe looks for. */
struct ProbeRequest {
    std::string owner;
    /// keys without an answer then are unreadable
    Deadline deadline;
    /// for the owner: also waits for nodes that are known to be unreachable. false: no key is `own`
    bool searching = false;
    resp::Urgency urgency = resp::Urgency::step;
};

/** Probes keys on many nodes at once: one EXISTS per key, or a script if an owner is searched for. It reads no values,
 *  because a foreign value may exceed the limit of a reply, which ends the connection. */
void probe(
    std::shared_ptr<SlotContexts> const& slots, MultiSlotPart const& part, ProbeRequest const& request,
    std::function<void(Probes)> handler);

/** When the first key expires, and how many keys never expire, among the keys that were read before the deadline. */
struct MultiSlotSurvey {
    std::optional<std::chrono::milliseconds> earliest_expiry;
    std::uint32_t foreign = 0;
    /// number of keys that were read
    std::uint32_t seen = 0;
};
void survey(
    std::shared_ptr<SlotContexts> const& slots, KeyRangePtr const& range, Deadline deadline,
    std::function<void(MultiSlotSurvey)> handler);

} // namespace tenure::redis
