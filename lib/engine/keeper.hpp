// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "lease_record.hpp"
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
class StoreLog;

/** Renews all leases of a store, in batches, and cancels their tokens in time. One timer serves them all; each lease is
 * judged by its own machine and its own answers, so that one bad claim or one stuck node delays no other. Everything
 * runs on the strand.
 */
class Keeper : public std::enable_shared_from_this<Keeper>
{
public:
    Keeper(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Counters& counters, StoreLog& store_log,
        Events const& events);

    /** Keeps the lease until it is lost or `remove`d. */
    void add(LeaseRecordPtr const& record, Instant now);

    /** Removes a released lease from the agenda: it is no longer renewed. */
    void remove(LeaseRecord& record, Instant now);

    /** A renewal the holder asked for. */
    void renew(LeaseRecordPtr const& record, milliseconds ttl, std::shared_ptr<Call<>> call);

    /** The store is reachable again: failed renewals are retried at once. */
    void reachable();

    /** The store is closed for good: all tokens are cancelled. */
    void close();

    [[nodiscard]] bool empty() const noexcept { return agenda_.empty(); }

private:
    /** An explicit renewal by the user. */
    struct Renewal {
        LeaseRecordPtr record;
        LeaseMachine::AttemptId attempt = 0;
    };
    /** Renewals that leave in one call. */
    struct DueRenewals {
        std::vector<RenewRequest> requests;
        /// one for each request
        std::vector<Renewal> renewals;
        /// when they were found due
        Instant when{};
    };

    void run_due(Instant now);
    void wake_by(Instant when);
    /** The lease is in the agenda, and is to be looked at then. Allocates nothing: renewals do it all the time. */
    void move(LeaseRecord& record, Instant when) noexcept;
    /** Says so where the timer rang so late that leases are in danger: the executor was blocked. */
    void note_lateness(Clock::duration late, Instant now);
    void note_ttl(milliseconds ttl, int change);
    /** Does what the machine said, and looks at the lease again when it said so. What is to be renewed is added to
     * `due`. */
    void carry_out(LeaseRecordPtr const& record, LeaseMachine::Step const& step, DueRenewals& due);
    /** The same for one lease alone. */
    void carry_out(LeaseRecordPtr const& record, LeaseMachine::Step const& step, Instant now);
    void send(DueRenewals due);
    /** @param sent  when the renewal was handed to the store */
    void answered(Renewal const& renewal, Instant sent, RenewReply const& reply, DueRenewals& due);
    /** Spreads the renewals of many processes; leases that are judged within one burst get one number, so that what is
     * renewed together stays together. */
    [[nodiscard]] std::uint64_t jitter(Instant now);
    void finish_calls(LeaseRecord& record, LeaseMachine::AttemptId answered, error_code error, bool only_that);
    void lose(LeaseRecordPtr const& record, CancelReason reason);
    /** Once, and only if its token was cancelled; tells if so. */
    bool count_loss(LeaseRecord& record);
    /** Counts it, and says so. */
    void report_loss(LeaseRecord& record);
    void forget(LeaseRecord& record, Instant now);
    /** It is held no more: counts it. */
    void count_end(LeaseRecord& record, Instant now) noexcept;

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Counters& counters_;
    StoreLog& store_log_;
    Events const& events_;
    /// all leases
    LeaseAgenda agenda_;
    /// number of leases for each ttl: the store gets the shortest ttl
    std::map<milliseconds, std::size_t> ttls_;
    milliseconds shortest_ttl_{0};
    /// rings at `timer_at_` at the latest; left alone when a lease goes, and then finds nothing to do
    Timer timer_{*runtime_};
    Instant timer_at_ = Instant::max();
    /// no further warning about a blocked executor before this
    Instant warns_from_ = Instant::min();
    std::uint64_t jitter_ = 0;
    Instant jitter_until_ = Instant::min();
    bool closed_ = false;
};

} // namespace tenure::engine
