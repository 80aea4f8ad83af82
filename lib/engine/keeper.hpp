// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "lease_record.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace tenure::engine
{

class Counters;
class Events;
class LeaseLines;
class StoreLog;

/** Renews all leases of a store, in batches, and cancels their tokens in time. One timer serves all leases. Each lease
 *  has its own machine and answers, so one bad claim or stuck node delays no other lease. Everything runs on the
 *  strand. */
class Keeper : public std::enable_shared_from_this<Keeper>
{
public:
    Keeper(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Counters& counters, StoreLog& store_log,
        LeaseLines& lines, Events const& events);

    /** Keeps the lease until it is lost or `remove`d. */
    void add(LeaseRecordPtr const& record, Instant now);

    /** Removes a released lease, which is no longer renewed. */
    void remove(LeaseRecord& record, Instant now) { end_lease(record, CancelReason::released, now); }

    /** Sends a renewal that the holder has requested. */
    void renew(LeaseRecordPtr const& record, milliseconds ttl, std::shared_ptr<Call<>> call);

    /** The store is reachable again: retries failed renewals at once. */
    void reachable();

    /** The store is closed for good: cancels all tokens. */
    void close();

    [[nodiscard]] bool empty() const noexcept { return agenda_.empty(); }

private:
    /** A renewal that was sent. */
    struct Renewal {
        LeaseRecordPtr record;
        LeaseMachine::AttemptId attempt = 0;
    };
    /** Renewals that are sent in one call. */
    struct DueRenewals {
        std::vector<RenewRequest> requests;
        /// one for each request
        std::vector<Renewal> renewals;
        /// when they were found due
        Instant when{};
    };

    void run_due(Instant now);
    void wake_by(Instant when);
    /** Logs a warning if the timer fired so late that leases are in danger: the executor was blocked. */
    void note_lateness(Clock::duration late, Instant now);
    void note_ttl(milliseconds ttl, int change);
    /** Carries out the machine's step, and schedules the next one. Adds a due renewal to `due`. */
    void carry_out(LeaseRecordPtr const& record, LeaseMachine::Step const& step, DueRenewals& due);
    /** As above for a single lease. */
    void carry_out(LeaseRecordPtr const& record, LeaseMachine::Step const& step, Instant now);
    void send(DueRenewals due);
    /** The store has thrown instead of taking these renewals: they may be pending or not, and are sent again. */
    void not_taken(DueRenewals const& renewals);
    /** @param sent  when the renewal was handed to the store */
    void answered(Renewal const& renewal, Instant sent, RenewReply const& reply, DueRenewals& due);
    /** Spreads the renewals of many processes. Leases that are judged within one burst get the same number, so that
     *  they stay in one batch. */
    [[nodiscard]] std::uint64_t jitter(Instant now);
    void finish_calls(LeaseRecord& record, LeaseMachine::AttemptId answered, error_code error, bool only_that);
    /** Ends a lease that was released or lost, or whose store is closed. */
    void end_lease(LeaseRecord& record, CancelReason reason, Instant now);
    /** Counts and logs the loss once, and only if the token was cancelled. */
    void report_loss(LeaseRecord& record);
    void forget(LeaseRecord& record, Instant now);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Counters& counters_;
    StoreLog& store_log_;
    LeaseLines& lines_;
    Events const& events_;
    /// all leases
    LeaseAgenda agenda_;
    /// number of leases for each ttl: the store gets the shortest ttl
    std::map<milliseconds, std::size_t> ttls_;
    milliseconds shortest_ttl_{0};
    /// stays set when a lease goes, and then finds nothing due
    Timer timer_{*runtime_};
    /// earliest time of the next warning about a blocked executor
    Instant warns_from_ = Instant::min();
    std::uint64_t jitter_ = 0;
    Instant jitter_until_ = Instant::min();
    /// the store is closed: the ends of leases are not logged
    bool closed_ = false;
};

} // namespace tenure::engine
