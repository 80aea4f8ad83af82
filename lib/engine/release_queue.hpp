// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"
#include "engine/machines/release_machine.hpp"
#include "runtime/names.hpp"
#include "runtime/spare_nodes.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/lease.hpp>
#include <tenure/metrics.hpp>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tenure::engine
{

class Counters;
class LeaseLines;
class StoreLog;
class LeaseRecord;

/** A key to free. */
struct KeyToFree {
    ClaimPtr claim;
    bool notifications = true;
    /// the grant was unwanted: it was never a lease, and is counted elsewhere
    bool unwanted = false;
    /// the lease was lost before its release
    bool lost = false;
};

/** A lease whose key stays taken for a time instead of being freed, and the call that waits for the answer. */
struct Detachment {
    std::shared_ptr<LeaseRecord> record;
    /// as `ReleaseRequest::keep_for`
    std::chrono::milliseconds keep_for{};
    std::shared_ptr<Call<>> call;
};

/** The end of all claims of an owner in a range. */
struct Withdrawal {
    KeyRangePtr range;
    std::string owner;
    bool notifications = true;
    /// the quarantine of each key that is found
    std::chrono::milliseconds reuse_after{};
};

/** Gives keys back or detaches them, until the store has answered or the key has expired. A failed request is retried
 *  with growing pauses; an unanswered one when a new connection works. Callers cannot cancel it. Everything runs on the
 *  strand. */
class ReleaseQueue : public std::enable_shared_from_this<ReleaseQueue>
{
public:
    using Request = std::variant<KeyToFree, Detachment, Withdrawal>;
    /** The end of a request. */
    struct Finished {
        Request const& request;
        ReleaseOutcome outcome;
        /// the store named a waiter of another store, which goes first
        bool named_another;
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

    /** Sends the request.
     *  @param ttl  from now on; after it the keys have expired, and no request is needed */
    void
    begin(Request request, std::chrono::milliseconds ttl, Instant now, PendingReleasePtr const& pending = make_item());

    /** A new connection to the store works: retries failed requests at once, and unanswered ones once they are overdue.
     */
    void reachable();

    /** The store has no users left: limits the retries to one second per key, and to a last moment from now. */
    void hurry(Instant now);
    /** The store is being closed: the same for keys whose leases were lost. */
    void hurry_lost(Instant now);

    /** Sets the function that learns of the end of each request. */
    void on_done(std::function<void(Finished const&)> done) noexcept { done_ = std::move(done); }

    void close();

    /** Destroys waiting handlers without calling them. Pending requests continue. */
    void forget_callers();

    [[nodiscard]] bool idle() const noexcept { return pending_.empty(); }

private:
    void carry_out(PendingReleasePtr const& pending, ReleaseMachine::Step const& step, Instant now);
    void send(PendingReleasePtr const& pending, Instant now);
    void wake_at(PendingReleasePtr const& pending, Instant when);
    template <class Reply>
    void answered(PendingReleasePtr const& pending, RequestKind kind, Reply const& reply);
    void finish(PendingReleasePtr const& pending, ReleaseOutcome outcome);
    /** Counts the end of a lease. */
    void count(Request const& request, ReleaseOutcome outcome) noexcept;
    void log_unconfirmed(Request const& request) const;

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Counters& counters_;
    StoreLog& store_log_;
    LeaseLines& lines_;
    /// releases that were sent; every eighth is timed, because a look at the clock is dear beside a release
    unsigned sent_ = 0;
    std::list<PendingReleasePtr> pending_;
    /// nodes for them
    SpareNodes<PendingReleasePtr> spare_;
    std::function<void(Finished const&)> done_;
};

class ReleaseQueue::PendingRelease : public Call<ReleaseOutcome>
{
public:
    using Call::Call;

    /** Reports the outcome to the waiting call, once. */
    void notify(ReleaseOutcome outcome);
    /** Drops the waiting call: its handler is destroyed uncalled. */
    void drop_callers() noexcept;

private:
    friend ReleaseQueue;

    /// set for a release by the library, without a handler of the user
    OneShot<void(ReleaseOutcome)> told_;
    Request request_;
    ReleaseMachine machine_;
    /// when it was sent last, if that is timed
    std::optional<Instant> timed_from_;
    Runtime::TimerId timer_ = 0;
    /// as `Finished::named_another`
    bool named_another_ = false;
    std::list<PendingReleasePtr>::iterator position_;
};

} // namespace tenure::engine
