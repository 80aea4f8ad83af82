// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"
#include "engine/machines/lease_machine.hpp"
#include "engine/machines/lease_terms.hpp"
#include "name_counters.hpp"
#include "token_state.hpp"
#include "waiters.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/lease.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenure::engine
{

class Handle;
class LeaseRecord;
using LeaseRecordPtr = std::shared_ptr<LeaseRecord>;
/** Leases by the instant at which the keeper has to look at them next. */
using LeaseAgenda = std::multimap<Instant, LeaseRecordPtr>;

/** An instant to the microsecond in six bytes, which a record has to spare. */
class PackedInstant
{
public:
    explicit PackedInstant(Instant instant) noexcept
        : PackedInstant(std::chrono::floor<std::chrono::microseconds>(instant.time_since_epoch()).count())
    {
    }

    [[nodiscard]] Instant instant() const noexcept
    {
        return Instant(std::chrono::microseconds{
            (std::int64_t{parts_[2]} << 32) | (std::int64_t{parts_[1]} << 16) | std::int64_t{parts_[0]}});
    }

private:
    explicit PackedInstant(std::int64_t microseconds) noexcept
        : parts_{
              static_cast<std::uint16_t>(microseconds), static_cast<std::uint16_t>(microseconds >> 16),
              static_cast<std::uint16_t>(microseconds >> 32)}
    {
    }

    /// the lowest first
    std::array<std::uint16_t, 3> parts_;
};

/** One granted lease: what its holder asks from any thread, and what the keeper knows on the strand. */
class LeaseRecord : public std::enable_shared_from_this<LeaseRecord>
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
    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    /** It was released or detached. */
    [[nodiscard]] bool released() const noexcept { return ending_.load(std::memory_order_acquire) != Ending::none; }
    /** A detachment has begun, and its end is not known yet: until then nothing may free what bears the owner. */
    [[nodiscard]] bool detaching() const noexcept
    {
        return ending_.load(std::memory_order_acquire) == Ending::detachment;
    }
    [[nodiscard]] bool forked() const noexcept { return token_.forked(); }
    /** Its release is announced to waiters elsewhere. */
    [[nodiscard]] bool notifications() const noexcept { return notifications_; }

    [[nodiscard]] std::shared_ptr<Runtime> const& shared_runtime() const noexcept { return runtime_; }
    /** Keeps the store open while the lease is held; null after the release. */
    [[nodiscard]] std::shared_ptr<Handle> handle() noexcept;

    /** Begins the release, once; renewals end here. Returns the handle that keeps the store open; null if the lease was
     * released before, and in a fork. */
    [[nodiscard]] std::shared_ptr<Handle> begin_release() noexcept;
    /** The same for a detachment. */
    [[nodiscard]] std::shared_ptr<Handle> begin_detachment() noexcept;

    static void wait_at_risk(LeaseRecordPtr const& record, Waiters::Handler handler);

    // -- on the strand --

    /** The outcome of the detachment is known, or the key has expired. */
    void detachment_ends() noexcept { ending_.store(Ending::release, std::memory_order_release); }

    // -- on the strand: the keeper's --

    [[nodiscard]] Instant granted_at() const noexcept { return granted_at_.instant(); }
    /** Shows what the machine knows to the holder. False if the token has fired meanwhile. */
    bool publish();
    /** The last reported state. */
    [[nodiscard]] bool shows_risk() const noexcept { return at_risk_.load(std::memory_order_relaxed); }
    /** Completes the waits for at-risk. */
    void tell_risk_waiters(error_code error);

    LeaseMachine machine;
    /// in the keeper's agenda, while that has it
    LeaseAgenda::iterator agenda_place;
    /// true while the keeper has it; then it is in its agenda
    bool kept = false;
    /// the loss was counted
    bool loss_counted = false;
    /// a claim of its acquisition ended without an answer, and may have taken another key of the range
    bool second_key = false;
    /// where it is counted; set at its grant
    NameTable::Index name = 0;
    /// calls of async_renew that wait for an answer to this attempt or a later one
    std::vector<std::pair<LeaseMachine::AttemptId, std::shared_ptr<Call<>>>> renewing;

private:
    enum class Ending : std::uint8_t { none, release, detachment };

    [[nodiscard]] std::shared_ptr<Handle> begin(Ending ending, CancelReason because) noexcept;

    std::shared_ptr<Runtime> runtime_;
    ClaimPtr claim_;
    /// empty where the range is this one key
    std::string key_;
    bool notifications_;
    TokenState token_;
    std::atomic<Clock::rep> valid_until_;
    std::atomic<milliseconds::rep> ttl_;
    std::atomic<bool> at_risk_{false};
    std::atomic<Ending> ending_{Ending::none};
    PackedInstant granted_at_;
    /// guards the next two
    std::mutex mutex_;
    /// keeps the store open while the lease is held; taken by the release or detachment
    std::shared_ptr<Handle> handle_;
    Waiters risk_waiters_;
};

} // namespace tenure::engine
