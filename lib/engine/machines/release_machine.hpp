// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>
#include <tenure/lease.hpp>

#include <chrono>
#include <optional>

namespace tenure::engine
{

/** One request that frees or keeps keys, from its first sending to its outcome, as a pure state machine. It decides
 * when to send, when the caller stops waiting, when to give up, and what an answer means; no I/O, no clock.
 *
 *  1. A request is sent at once, but never after its keys have expired: then it ends as `unconfirmed`.
 *  2. A caller waits for at most a second, while the request goes on.
 *  3. A failed request is repeated after a pause, which begins with 10 ms and doubles up to 640 ms.
 *  4. An unanswered request is repeated only when a new connection works, and once it is a second old.
 *  5. A failed request is repeated as soon as a new connection works.
 *  6. If the store has no users left, or is being closed and the lease was lost, a request ends a second after its
 *     beginning, or 250 ms from now if that is later.
 *  7. "Not the owner" means `was_lost` only if no other request can have freed the key.
 *  8. If an earlier request may have kept a key, which may have expired since, "not the owner" means `unconfirmed`. */
class ReleaseMachine
{
public:
    /** The actions after an event. */
    struct Step {
        bool send = false;
        /// the caller stops waiting
        bool overdue = false;
        /// it is over, and `unconfirmed`
        bool give_up = false;
        /// call `tick` at this instant
        Instant wake_at = Instant::max();
    };

    /** @param ttl  from now on; after it the keys have expired
     *  @param keeps  the key is kept, not freed */
    [[nodiscard]] Step begin(std::chrono::milliseconds ttl, bool keeps, Instant now);
    [[nodiscard]] Step tick(Instant now);
    [[nodiscard]] Step failed(bool may_take_effect, Instant now);
    /** The store has freed or kept the key: it is over with this outcome. */
    [[nodiscard]] ReleaseOutcome confirmed();
    /** The key has another owner or none: it is over with this outcome. */
    [[nodiscard]] ReleaseOutcome disowned();
    /** A new connection to the store works. */
    [[nodiscard]] Step reachable(Instant now);
    /** Rule 6 applies from now on. Unset: it ends as early in any case. */
    [[nodiscard]] std::optional<Step> hurry(Instant now);
    /** The store is closed: it is over, and no event may follow. */
    void end() noexcept { ended_ = true; }

    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] Instant give_up_at() const noexcept { return give_up_at_; }

private:
    [[nodiscard]] Step send(Instant now);
    [[nodiscard]] Step wait_until(Instant when);
    [[nodiscard]] Step give_up();

    bool keeps_ = false;
    Instant began_{};
    /// when the keys have expired, or the store without users stops trying
    Instant give_up_at_{};
    /// when the caller stops waiting; max: it has
    Instant overdue_at_{};
    /// when the request was sent last
    Instant sent_at_{};
    /// when it is sent again
    Instant send_at_ = Instant::max();
    /// number of unanswered requests
    unsigned unanswered_ = 0;
    /// number of failed requests
    unsigned failed_ = 0;
    /// a failed request may have taken effect
    bool may_be_done_ = false;
    bool ended_ = false;
};

} // namespace tenure::engine
