// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/lease.hpp>
#include <tenure/metrics.hpp>

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tenure::engine
{

class Counters;
class StoreLog;
class LeaseRecord;

/** A lease whose key its store is to keep for a time instead of freeing it, and the call that waits for that. */
struct Detachment {
    std::shared_ptr<LeaseRecord> record;
    /// as `ReleaseRequest::keep_for`
    std::chrono::milliseconds keep_for{};
    std::shared_ptr<Call<>> call;
};

/** Gives keys back or detaches them: retries until the store has answered or the key has expired. Callers cannot cancel
 * it. Everything runs on the strand.
 */
class ReleaseQueue : public std::enable_shared_from_this<ReleaseQueue>
{
public:
    /** Why a key is given back. */
    enum class Reason { lease_over, unwanted_grant };
    /** Reports outcomes to its owner. */
    class Listener
    {
    public:
        /** The outcome for a key that was to be freed; `unconfirmed` also if the answer is late. */
        virtual void given_back(Reason reason, ReleaseOutcome outcome) = 0;
        /** A release or withdrawal is over.
         *  @param freed  a key of the range became free, as far as is known
         *  @param named_another  the store named a waiter of another store, which goes first */
        virtual void released(KeyRangePtr const& range, bool freed, bool named_another) = 0;
        /** The outcome for a key that was to be kept; `unconfirmed` also if the answer is late. */
        virtual void kept(ReleaseOutcome outcome) = 0;
        /** A detachment is over: late answers may free what bears the owner again. */
        virtual void detachment_ends(LeaseRecord& record) = 0;
        /** The last item is done. */
        virtual void all_given_back() = 0;

    protected:
        ~Listener() = default;
    };

    ReleaseQueue(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Counters& counters, StoreLog& store_log);

    /** A key to give back, and the call that waits for the outcome: the call ends with `unconfirmed` if the answer is
     * late or never arrives. */
    class PendingRelease;
    using PendingReleasePtr = std::shared_ptr<PendingRelease>;
    /** An item without a waiting call. */
    [[nodiscard]] static PendingReleasePtr make_item();

    /** Frees one key that bears our owner.
     *  @param ttl  from now on: by then the key has expired, and there is nothing more to do */
    void release(
        PendingReleasePtr const& pending, ClaimPtr claim, Reason reason, bool notifications, Instant now,
        std::chrono::milliseconds ttl);

    /** Has the store keep a lease's key. @param ttl  as for `release` */
    void detach(Detachment detachment, Instant now, std::chrono::milliseconds ttl);

    /** Frees whichever keys of the range bear the owner; with `reuse_after` they rest for so long. */
    void withdraw(
        KeyRangePtr range, std::string owner, bool notifications, std::chrono::milliseconds reuse_after, Instant now,
        std::chrono::milliseconds ttl);

    /** The store is reachable again: failed requests are retried at once. */
    void reachable();

    /** The store has no users left: each key is tried for one second in all, and for a last moment from now. */
    void hurry(Instant now);

    void tell_to(std::weak_ptr<Listener> listener) noexcept { listener_ = std::move(listener); }

    void close();

    /** Pending requests continue; the handlers that wait for them are destroyed uncalled. */
    void forget_callers();

    [[nodiscard]] bool idle() const noexcept { return pending_.empty(); }

private:
    void begin(PendingReleasePtr const& pending, Instant now);
    void ask(PendingReleasePtr const& pending, Instant now);
    void retry_at(PendingReleasePtr const& pending, Instant when);
    void finish(PendingReleasePtr const& pending, ReleaseOutcome outcome, bool named_another = false);
    void log_unconfirmed(PendingRelease const& pending) const;
    static void notify(Listener* listener, PendingRelease& pending, ReleaseOutcome outcome);
    static void notify(Listener* listener, Detachment& detachment, ReleaseOutcome outcome);
    template <class Reply>
    void answered(PendingReleasePtr const& pending, RequestKind kind, Reply const& reply);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Counters& counters_;
    StoreLog& store_log_;
    /// releases that were sent; every eighth is timed, because a look at the clock is dear beside a release
    unsigned sent_ = 0;
    std::list<PendingReleasePtr> pending_;
    std::weak_ptr<Listener> listener_;
};

class ReleaseQueue::PendingRelease : public Call<ReleaseOutcome>
{
public:
    using Call::Call;

private:
    friend ReleaseQueue;

    /// the key to free or keep; null for a withdrawal
    ClaimPtr claim_;
    /// the key is to be kept; null: it is to be freed
    std::unique_ptr<Detachment> detachment_;
    /// the withdrawal
    KeyRangePtr range_;
    std::string owner_;
    std::chrono::milliseconds reuse_after_{};
    bool notifications_ = true;
    Instant began_{};
    /// when it was sent last, if that is timed
    std::optional<Instant> timed_from_;
    Instant give_up_at_{};
    /// when the waiting call ends with `unconfirmed`
    Instant tell_at_{};
    Reason reason_ = Reason::lease_over;
    /// when it is asked again
    Instant ask_at_ = Instant::max();
    Runtime::TimerId timer_ = 0;
    /// requests without an answer
    unsigned asked_ = 0;
    /// requests that failed
    unsigned failed_ = 0;
    /// one of them may have taken effect
    bool may_be_done_ = false;
    bool finished_ = false;
    std::list<PendingReleasePtr>::iterator position_;
};

} // namespace tenure::engine
