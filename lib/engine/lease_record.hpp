// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"
#include "engine/machines/lease_machine.hpp"
#include "engine/machines/lease_terms.hpp"
#include "lease_agenda.hpp"
#include "name_counters.hpp"
#include "runtime/names.hpp"
#include "token_state.hpp"
#include "waiters.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/lease.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenure::engine
{

class Handle;

/** One granted lease: the state that its holder reads on any thread, and the state of the keeper on the strand. */
class LeaseRecord
{
public:
    LeaseRecord(
        std::shared_ptr<Handle> handle, std::shared_ptr<Runtime> runtime, ClaimPtr claim, LeaseTerms const& terms,
        Granted const& grant, Instant now);

    // -- any thread --

    [[nodiscard]] Claim const& claim() const noexcept { return *claim_; }
    [[nodiscard]] ClaimPtr const& claim_ptr() const noexcept { return claim_; }
    [[nodiscard]] std::string const& key() const noexcept
    {
        return claim_->range->numbered ? key_ : claim_->range->prefix;
    }
    [[nodiscard]] bool valid() const noexcept;
    [[nodiscard]] LeaseState state() const noexcept;
    [[nodiscard]] Instant valid_until() const noexcept;
    [[nodiscard]] milliseconds ttl() const noexcept { return milliseconds(ttl_.load(std::memory_order_acquire)); }
    [[nodiscard]] TokenState& token() noexcept { return token_; }
    [[nodiscard]] TokenState const& token() const noexcept { return token_; }
    [[nodiscard]] Runtime& runtime() const noexcept { return *shared_runtime(); }
    /** True if it was released or detached. */
    [[nodiscard]] bool released() const noexcept { return ending_.load(std::memory_order_acquire) != Ending::none; }
    /** True while a detachment is pending: until its end no request may free keys of this owner. */
    [[nodiscard]] bool detaching() const noexcept
    {
        return ending_.load(std::memory_order_acquire) == Ending::detachment;
    }
    [[nodiscard]] bool forked() const noexcept { return token_.forked(); }
    /** True if its release is announced to waiters elsewhere. */
    [[nodiscard]] bool notifications() const noexcept { return notifications_; }

    [[nodiscard]] std::shared_ptr<Runtime> const& shared_runtime() const noexcept { return token_.shared_runtime(); }
    /** Keeps the store open while the lease is held; null after the release. */
    [[nodiscard]] std::shared_ptr<Handle> handle() noexcept;

    /** Begins the release, once, and ends renewals. Returns the handle that keeps the store open; null if the lease was
     *  released before, and in a child of fork. */
    [[nodiscard]] std::shared_ptr<Handle> begin_release() noexcept;
    /** As above for a detachment. */
    [[nodiscard]] std::shared_ptr<Handle> begin_detachment() noexcept;

    static void wait_at_risk(LeaseRecordPtr const& record, Waiters::Handler handler);

    // -- on the strand --

    /** The outcome of the detachment is known, or the key has expired. */
    void detachment_ends() noexcept { ending_.store(Ending::release, std::memory_order_release); }

    // -- on the strand: the keeper's --

    [[nodiscard]] Instant granted_at() const noexcept { return granted_at_; }
    /** Publishes the machine's state for the holder. False if the token was cancelled meanwhile. */
    bool publish();
    /** The last reported state. */
    [[nodiscard]] bool shows_risk() const noexcept { return at_risk_.load(std::memory_order_relaxed); }
    /** Completes the waits for at-risk. */
    void notify_risk_waiters(error_code error);

    LeaseMachine machine;
    /// position in the keeper's agenda
    LeaseAgenda::Place agenda_place;
    /// the keeper has this lease, which is then in its agenda
    bool kept = false;
    /// the loss was counted
    bool loss_counted = false;
    /// a claim of its acquisition ended without an answer, and may have taken another key of the range
    bool second_key = false;
    /// where it is counted; set at its grant
    NameTable::Index name = 0;
    /// of its acquisition, for events; set at its grant
    std::shared_ptr<void> event_context;
    /// async_renew calls that wait for an answer to this attempt or a later one
    std::vector<std::pair<LeaseMachine::AttemptId, std::shared_ptr<Call<>>>> renewing;

private:
    enum class Ending : std::uint8_t { none, release, detachment };

    [[nodiscard]] std::shared_ptr<Handle> begin(Ending ending, CancelReason because) noexcept;

    ClaimPtr claim_;
    /// empty if the range has only this key
    std::string key_;
    bool notifications_;
    TokenState token_;
    std::atomic<Clock::rep> valid_until_;
    std::atomic<milliseconds::rep> ttl_;
    std::atomic<bool> at_risk_{false};
    std::atomic<Ending> ending_{Ending::none};
    Instant granted_at_;
    /// Keeps the store open while the lease is held, until the release or detachment takes it. The token's mutex guards
    /// it and the next member.
    std::shared_ptr<Handle> handle_;
    Waiters risk_waiters_;
};

} // namespace tenure::engine
