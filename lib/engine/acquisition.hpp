// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"
#include "engine/machines/acquire_machine.hpp"
#include "engine/machines/lease_terms.hpp"
#include "lease_record.hpp"
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

class LeaseTarget;
class Core; // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/** One acquisition under way: asks the store as its machine says, takes its turn at the wait queue, and hands the lease
 * to its caller.
 *
 *  Whatever the store grants to an acquisition that has ended is given back. The core owns it while it is under way;
 * what comes later finds it through the handlers of its requests. Everything but `start` runs on the strand.
 */
class Acquisition : public std::enable_shared_from_this<Acquisition>
{
public:
    /// see AcquireHandler
    using Handler = OneShot<void(error_code, Lease)>;

    /** @param is_try  keys that others hold are no error: it completes with no lease
     *  @param prefers  as `AcquireOptions::prefer`, below the count of the range */
    Acquisition(
        std::shared_ptr<LeaseTarget> target, LeaseTerms const& terms, milliseconds wait, bool is_try,
        std::optional<std::uint32_t> prefers, Handler handler);

    /** On the thread of the initiating call. */
    static void start(std::shared_ptr<Acquisition> self, asio::cancellation_slot slot);

    /** It is the head of its wait queue, and a key may be free: ask at once. */
    void try_now();
    /** It is the head of its wait queue, and others were named: as `AcquireMachine` says. */
    void yield(Instant until);
    void hold_back(Instant until);
    /** A claim of it is under way. */
    [[nodiscard]] bool asking() const noexcept { return machine_ && machine_->asking(); }
    /** Where it is counted. */
    [[nodiscard]] NameCounters& name_counters() const noexcept;

    /** The store is being closed: ends with this error. */
    void refuse(error_code error);

    /** The context is going away: drops the handler without calling it. */
    void abandon();

private:
    friend class Core;

    void begin();
    void cancel();
    void carry_out(AcquireMachine::Step const& step, Instant now);
    void wake_at(Instant when);
    void ask(Instant now);
    /** One claim, as it was sent. */
    struct Asked {
        /// of the owner that asked
        std::shared_ptr<Claim> claim;
        Instant when;
        Waits place;
        /// the one key of the range that it asked for; unset: any
        std::optional<std::uint32_t> only;
    };
    void answered(Asked const& asked, ClaimReply const& reply);
    void answered_too_late(Asked const& asked, ClaimReply const& reply);
    /** How the claim that is sent now stands in the store's line. */
    [[nodiscard]] Waits place();
    /** For its sake the store may stand in line. */
    [[nodiscard]] bool may_stand_in_line() const noexcept;
    /** Updates the place in line after an answer. */
    void check_place(Waits place, ClaimReply const& reply);
    void granted(Granted const& grant, Instant now);
    /** The grant is given back, and another owner tries again. */
    void of_no_use(Claim const& claim, Granted const& grant, error_code error, bool fatal, Instant now);
    /** Its claims are being given back: the next claim uses another owner. */
    void spend_owner();
    void busy(Busy const& reply, Clock::duration took, Instant now);
    void preferred_held(Instant now);
    void finish(error_code error);
    void end();
    /** Claims under the present owner that were not written yet never will be. */
    void drop_claims(bool any_unanswered);
    void call_handler(error_code error, LeaseRecordPtr record);
    void give_back(Claim const& claim, Granted const& grant);
    [[nodiscard]] std::string make_owner();
    /** By then a claim that was granted has expired in the store. */
    [[nodiscard]] milliseconds lifetime() const noexcept { return terms_.ttl + terms_.reuse_after; }

    /// null once it is over
    std::shared_ptr<LeaseTarget> target_;
    std::shared_ptr<Core> core_;
    KeyRangePtr range_;
    LeaseTerms terms_;
    /// where it is counted
    NameTable::Index name_;
    /// zero: tries once
    milliseconds wait_;
    bool is_try_;
    /// the only key of its claims until it waits at the wait queue; unset once the store has answered that it is held
    std::optional<std::uint32_t> prefers_;
    Handler handler_;
    std::optional<AcquireMachine> machine_;
    /// of the present owner, and that of the lease once it is granted; a new one after anything was given back, so that
    /// no late release can hit a later grant
    std::shared_ptr<Claim> claim_;
    /// the first claim under this owner whose outcome is not known for sure
    std::optional<Instant> earliest_attempt_;
    /// a claim under this owner ended without an answer, and may still take effect
    bool unknown_ = false;
    /// index of the key that became the lease, and the lease itself
    std::optional<std::uint32_t> granted_index_;
    std::weak_ptr<LeaseRecord> lease_;
    Instant started_{};
    /// by then a claim must have been written
    Instant write_by_ = Instant::max();
    /// where it waits; null until it does
    std::shared_ptr<WaitQueue> queue_;
    /// the range was contended for when it began: its first claim stands in line
    bool lines_up_ = false;
    /// more than one claim was under way at a time
    bool claims_overlap_ = false;
    /// the machine's next tick
    Instant wakes_at_ = Instant::max();
    Timer timer_;
    /// where the core keeps it
    std::list<std::shared_ptr<Acquisition>>::iterator position_;
};

} // namespace tenure::engine
