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
class LeaseLines;
class StoreLog;
class LeaseRecord;

/** A lease whose key stays taken for a time instead of being freed, and the call that waits for the answer. */
struct Detachment {
    std::shared_ptr<LeaseRecord> record;
    /// as `ReleaseRequest::keep_for`
    std::chrono::milliseconds keep_for{};
    std::shared_ptr<Call<>> call;
};

/** Gives keys back or detaches them, until the store has answered or the key has expired. A failed request is retried
 *  with growing pauses; an unanswered one when a new connection works. Callers cannot cancel it. Everything runs on the
 *  strand. */
class ReleaseQueue : public std::enable_shared_from_this<ReleaseQueue>
{
public:
    /** The reason why a key is given back. */
    enum class Reason { lease_over, unwanted_grant };
    /** Reports outcomes to its owner. */
    class Listener
    {
    public:
        /** Reports the outcome for a key to free; `unconfirmed` also if the answer is late. */
        virtual void given_back(Reason reason, ReleaseOutcome outcome) = 0;
        /** Reports the end of a release or withdrawal.
         *  @param freed  a key of the range became free, as far as known
         *  @param named_another  the store named a waiter of another store, which goes first */
        virtual void released(KeyRangePtr const& range, bool freed, bool named_another) = 0;
        /** Reports the outcome for a key to keep; `unconfirmed` also if the answer is late. */
        virtual void kept(ReleaseOutcome outcome) = 0;
        /** Reports the end of a detachment: late answers may free keys of the owner again. */
        virtual void detachment_ends(LeaseRecord& record) = 0;
        /** Reports that the queue is empty. */
        virtual void all_given_back() = 0;

    protected:
        ~Listener() = default;
    };

    ReleaseQueue(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Counters& counters, StoreLog& store_log,
        LeaseLines& lines);

    /** A key to give back, and the call that waits for the outcome. The call ends with `unconfirmed` if the answer is
     *  late or missing. */
    class PendingRelease;
    using PendingReleasePtr = std::shared_ptr<PendingRelease>;
    /** An item without a waiting call.
     *  @param told  called inside the engine with the outcome, so it only posts its work */
    [[nodiscard]] static PendingReleasePtr make_item(OneShot<void(ReleaseOutcome)> told = {});

    /** Frees one key that has our owner.
     *  @param ttl  from now on; after it the key has expired, and no request is needed */
    void release(
        PendingReleasePtr const& pending, ClaimPtr claim, Reason reason, bool notifications, Instant now,
        std::chrono::milliseconds ttl);

    /** Requests the store to keep the key of a lease.
     *  @param ttl  as for `release` */
    void detach(Detachment detachment, Instant now, std::chrono::milliseconds ttl);

    /** Frees all keys of the range that have the owner. They get the quarantine `reuse_after`. */
    void withdraw(
        KeyRangePtr range, std::string owner, bool notifications, std::chrono::milliseconds reuse_after, Instant now,
        std::chrono::milliseconds ttl);

    /** A new connection to the store works: retries failed requests at once, and unanswered ones once they are overdue.
     */
    void reachable();

    /** The store has no users left: limits the retries to one second per key, and to a last moment from now. */
    void hurry(Instant now);

    void tell_to(std::weak_ptr<Listener> listener) noexcept { listener_ = std::move(listener); }

    void close();

    /** Destroys waiting handlers without calling them. Pending requests continue. */
    void forget_callers();

    [[nodiscard]] bool idle() const noexcept { return pending_.empty(); }

private:
    void begin(PendingReleasePtr const& pending, Instant now);
    void ask(PendingReleasePtr const& pending, Instant now);
    /** Sends the request at `when`, unless its call or its time ends before. */
    void ask_at(PendingReleasePtr const& pending, Instant when);
    void tick(PendingReleasePtr const& pending, Instant now);
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
    LeaseLines& lines_;
    /// releases that were sent; every eighth is timed, because a look at the clock is dear beside a release
    unsigned sent_ = 0;
    std::list<PendingReleasePtr> pending_;
    std::weak_ptr<Listener> listener_;
};

class ReleaseQueue::PendingRelease : public Call<ReleaseOutcome>
{
public:
    using Call::Call;

    /** Reports the outcome to the waiting call, once. */
    void tell(ReleaseOutcome outcome)
    {
        complete({}, outcome);
        if (auto told = std::move(told_))
            told(outcome);
    }
    /** Drops the waiting call: its handler is destroyed uncalled. */
    void drop_callers() noexcept
    {
        forget();
        told_ = nullptr;
    }

private:
    friend ReleaseQueue;

    /// set for a release by the library, without a handler of the user
    OneShot<void(ReleaseOutcome)> told_;
    /// the key to free or keep; null: a withdrawal
    ClaimPtr claim_;
    /// set if the key is to be kept; null: it is to be freed
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
    /// when the request is repeated
    Instant ask_at_ = Instant::max();
    Runtime::TimerId timer_ = 0;
    /// number of unanswered requests
    unsigned asked_ = 0;
    /// when the last one was sent
    Instant asked_at_{};
    /// number of failed requests
    unsigned failed_ = 0;
    /// a failed request may have taken effect
    bool may_be_done_ = false;
    bool finished_ = false;
    std::list<PendingReleasePtr>::iterator position_;
};

} // namespace tenure::engine
