// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"
#include "engine/machines/acquire_machine.hpp"
#include "engine/machines/lease_terms.hpp"
#include "lease_record.hpp"
#include "place_queue.hpp"
#include "runtime/error_details.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"
#include "wait_queue.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/lease.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace tenure::engine
{

class Events;
class LeaseTarget;
class StoreLog;
class Core; // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/** One acquisition: sends claims when its machine decides, waits in the wait queue, and passes the lease to its caller.
 *
 *  A grant that arrives after the end is given back. The core owns the acquisition until its end; later answers find it
 *  through the handlers of their requests. Everything but `start` runs on the strand. */
class Acquisition : public std::enable_shared_from_this<Acquisition>
{
public:
    /// see AcquireHandler
    using Handler = OneShot<void(Known, error_code, Lease)>;

    /** @param is_try  keys that others hold are no error: it completes without a lease
     *  @param prefers  as `AcquireOptions::prefer`; less than the count of the range
     *  @param share  set exactly if the range has shares
     *  @param event_context  of `Events::context` */
    Acquisition(
        std::shared_ptr<LeaseTarget> target, LeaseTerms const& terms, milliseconds wait, bool is_try,
        std::optional<std::uint32_t> prefers, std::optional<Share> const& share, std::shared_ptr<void> event_context,
        Handler handler);

    /** Call it on the thread of the initiating call. */
    static void start(std::shared_ptr<Acquisition> self, asio::cancellation_slot slot);

    /** It is the head of its wait queue: claims at this instant, as `AcquireMachine` decides. */
    void claim_at(Instant when);
    /** It is a head of its place queue: news of its key have come. */
    void heard(WatchNews news);
    [[nodiscard]] TurnMachine::Head as_head() const noexcept
    {
        return {true, machine_->asking(), machine_->holds_back()};
    }
    /** Where it is counted. */
    [[nodiscard]] NameCounters& name_counters() const noexcept;

    /** Ends with this error, because its caller cancels it or the store is being closed. */
    void end_with(error_code error);

    /** Drops the handler without calling it, because the context is being destroyed. */
    void abandon();

private:
    friend class Core;

    void begin();
    void carry_out(AcquireMachine::Step const& step, Instant now);
    void wake_at(Instant when);
    /** Passes the progress that the store has reported to the machine. */
    void note_progress();
    /** The detail of an end without any answer. */
    [[nodiscard]] std::string silence_text(Instant now) const;
    [[nodiscard]] std::string waited_text(Instant now) const;
    void ask(Instant now);
    /** One claim, as it was sent. */
    struct Asked {
        /// claim of the owner that sent it
        std::shared_ptr<Claim> claim;
        Instant when;
        Waits place;
        /// the one requested key of the range; unset: any
        std::optional<std::uint32_t> only;
    };
    void answered(Asked const& asked, ClaimReply const& reply);
    void answered_too_late(Asked const& asked, ClaimReply const& reply);
    /** @param claims_pending  further claims of this owner may still reach the store */
    void granted(Granted const& grant, bool claims_pending, Instant now);
    /** Gives the grant back, and tries again with another owner. */
    void of_no_use(Claim const& claim, Granted const& grant, error_code error, bool fatal, Instant now);
    /** Its claims are being given back, so the next claim uses another owner. */
    void spend_owner();
    void busy(Busy const& reply, Clock::duration took, Instant now);
    void preferred_held(Instant now);
    /** A claim did not hold. @returns as `PlaceMachine::ask_by` */
    [[nodiscard]] Instant placed(Busy const& reply);
    /** Counts a place that has lapsed, if an answer with this number proves it. */
    void note_number(std::uint64_t number);
    /** Hands its place over to the next waiter of this process, if that may have it. */
    [[nodiscard]] bool pass_on_place();
    void finish(error_code error);
    /** Tells tracing that it is over. */
    void report_end(error_code error, Instant now) const;
    /** Records a failure of the store, also for the end of this acquisition. */
    void record_error(error_code error, std::string detail);
    /** As above, and counts requests that keep failing. */
    void note_failure(Failure const& failure);
    void end(bool leaves_line);
    /** Drops the unwritten claims of the current owner. */
    void drop_claims(bool any_unanswered);
    void call_handler(error_code error, LeaseRecordPtr record);
    void give_back(Claim const& claim, Granted const& grant);
    [[nodiscard]] std::string make_owner();
    /** After this time a granted claim has expired in the store. */
    [[nodiscard]] milliseconds lifetime() const noexcept { return terms_.ttl + terms_.reuse_after; }

    /// null after the end
    std::shared_ptr<LeaseTarget> target_;
    std::shared_ptr<Core> core_;
    // the core's
    Runtime& runtime_;
    StoreLog& store_log_;
    Events const& events_;
    std::shared_ptr<void> event_context_;
    KeyRangePtr range_;
    LeaseTerms terms_;
    /// where it is counted
    NameTable::Index name_;
    /// zero: a single try
    milliseconds wait_;
    bool is_try_;
    /// the only key of its claims, until it is in the wait queue or the store has answered that the key is held
    std::optional<std::uint32_t> prefers_;
    Handler handler_;
    std::optional<AcquireMachine> machine_;
    /// claim of the current owner, and of the lease after the grant. A new one after anything was given back, so that
    /// no late release can hit a later grant
    std::shared_ptr<Claim> claim_;
    /// first claim of this owner whose outcome is not certain
    std::optional<Instant> earliest_attempt_;
    /// a claim of this owner ended without an answer, and may still take effect
    bool unknown_ = false;
    /// index of the granted key, and its lease
    std::optional<std::uint32_t> granted_index_;
    std::weak_ptr<LeaseRecord> lease_;
    /// the last failure, for the caller if the acquisition ends with it
    error_code failed_with_;
    ErrorDetails failed_why_;
    Instant started_{};
    /// deadline for sending a claim
    Instant write_by_ = Instant::max();
    /// runs the machine
    Timer timer_;
    Turn turn_;
    /// its part in the place queue, where the key is held in places; else null
    std::unique_ptr<PlaceTurn> place_;
    /// its place in the core's list
    std::list<std::shared_ptr<Acquisition>>::iterator position_;
};

} // namespace tenure::engine
