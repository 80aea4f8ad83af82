// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "call.hpp"
#include "recycling_list.hpp"
#include "shared_timer.hpp"

#include <tenure/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/lease.hpp>
#include <tenure/runtime.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace tenure::engine
{

class Journal;

/** Gives keys back, whatever it takes: asks again until the store has answered or the key has lapsed by itself.
 * Nobody's cancellation reaches it. Everything runs on the strand.
 */
class Compensation : public std::enable_shared_from_this<Compensation>
{
public:
    using CallPtr = std::shared_ptr<Call<ReleaseOutcome>>;
    /** Why a key is given back. */
    enum class Reason { lease_over, unwanted_grant };
    /** Told of each key that was to be freed what became of it; `unconfirmed` also where the answer takes long. */
    using Listener = std::function<void(Claim const& claim, Reason reason, ReleaseOutcome outcome)>;

    Compensation(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Journal& journal);

    /** Frees one key that bears our owner.
     *  @param ttl  from now on: by then the key has lapsed by itself, and there is nothing more to do
     *  @param call  of who waits for the outcome; ends with `unconfirmed` if the answer takes long, or never comes.
     * May be null */
    void
    release(ClaimPtr claim, Reason reason, bool wake_ups, Instant now, std::chrono::milliseconds ttl, CallPtr call);

    /** Frees whichever keys of the range bear the owner. */
    void withdraw(KeyRangePtr range, std::string owner, bool wake_ups, Instant now, std::chrono::milliseconds ttl);

    /** The store can be reached again: what failed is asked again at once. */
    void reachable();

    /** Nobody uses the store any more: nothing is tried beyond this instant. */
    void hurry(Instant give_up_at);

    void on_outcome(Listener listener) { on_outcome_ = std::move(listener); }

    /** Called when the last item is done. */
    void on_idle(std::function<void()> handler) { on_idle_ = std::move(handler); }

    void close();

    [[nodiscard]] bool idle() const noexcept { return items_.empty(); }

private:
    friend SharedTimer<Compensation>;

    /** Something to give back. */
    struct Item {
        /// the key to free; null for a withdrawal
        ClaimPtr claim;
        /// the withdrawal
        KeyRangePtr range;
        std::string owner;
        bool wake_ups = true;
        Instant give_up_at{};
        /// by then who waits is told that it takes long
        Instant tell_at{};
        CallPtr call;
        Reason reason = Reason::lease_over;
        /// when it is asked again
        Instant ask_at = Instant::max();
        /// unset while it shares that of all
        bool has_timer = false;
        Runtime::TimerId timer = 0;
        /// requests without an answer
        unsigned asked = 0;
        /// requests that failed
        unsigned failed = 0;
        /// one of them may have taken effect
        bool may_be_done = false;
        bool finished = false;
        RecyclingList<std::shared_ptr<Item>>::iterator position;
    };
    using ItemPtr = std::shared_ptr<Item>;

    void begin(ItemPtr const& item, Instant now);
    void ask(ItemPtr const& item, Instant now);
    void retry_at(ItemPtr const& item, Instant when);
    void set_timer(ItemPtr const& item);
    /** To the items that have none. */
    void give_timers();
    void finish(ItemPtr const& item, ReleaseOutcome outcome);
    void tell(Item const& item, ReleaseOutcome outcome);
    template <class Reply>
    void answered(ItemPtr const& item, Reply const& reply);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Journal& journal_;
    RecyclingList<ItemPtr> items_;
    SharedTimer<Compensation> timer_;
    Listener on_outcome_;
    std::function<void()> on_idle_;
};

} // namespace tenure::engine
