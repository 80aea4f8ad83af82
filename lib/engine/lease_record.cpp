// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// LeaseRecord: publishes the state of a lease to its holder.
#include "lease_record.hpp"

#include <tenure/errc.hpp>

#include <optional>
#include <utility>

namespace tenure::engine
{

LeaseRecord::LeaseRecord(
    std::shared_ptr<Handle> handle, std::shared_ptr<Runtime> runtime, ClaimPtr claim, LeaseTerms const& terms,
    Granted const& grant, Instant now)
    : machine(terms, grant.since, grant.ttl, now)
    , claim_(std::move(claim))
    , key_(claim_->range->numbered ? claim_->key() : std::string())
    , notifications_(terms.notifications)
    , token_(std::move(runtime), machine.fires_at(), machine.fires_because())
    , valid_until_(machine.valid_until().time_since_epoch().count())
    , ttl_(grant.ttl.count())
    , granted_at_(now)
    , handle_(std::move(handle))
{
}

Instant LeaseRecord::valid_until() const noexcept
{
    return Instant(Clock::duration(valid_until_.load(std::memory_order_acquire)));
}

bool LeaseRecord::valid() const noexcept
{
    return !released() && token_.reason() != CancelReason::not_owner && !forked() &&
           token_.runtime().now() < valid_until();
}

LeaseState LeaseRecord::state() const noexcept
{
    if (released() || forked())
        return LeaseState::released;
    if (token_.cancelled())
        return LeaseState::lost;
    return at_risk_.load(std::memory_order_acquire) ? LeaseState::at_risk : LeaseState::held;
}

std::shared_ptr<Handle> LeaseRecord::handle() noexcept
{
    std::lock_guard const lock(token_.mutex());
    return handle_;
}

std::shared_ptr<Handle> LeaseRecord::begin_release() noexcept
{
    return begin(Ending::release, CancelReason::released);
}

std::shared_ptr<Handle> LeaseRecord::begin_detachment() noexcept
{
    return begin(Ending::detachment, CancelReason::detached);
}

std::shared_ptr<Handle> LeaseRecord::begin(Ending ending, CancelReason because) noexcept
{
    if (auto none = Ending::none; !ending_.compare_exchange_strong(none, ending, std::memory_order_acq_rel))
        return nullptr;
    claim_->mark.ended.store(true, std::memory_order_release);
    // a thread that does not exist in a child of fork may own the mutex
    if (forked())
        return nullptr;
    std::unique_lock lock(token_.mutex());
    auto handle = std::move(handle_);
    auto waiting = risk_waiters_.take_all();
    lock.unlock();
    try {
        token_.cancel(because);
        if (!waiting.empty())
            Waiters::post_all(std::move(waiting), make_error_code(errc::released));
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the handlers are destroyed, the release goes on
    }
    return handle;
}

bool LeaseRecord::publish()
{
    auto const risk = machine.at_risk();
    auto const fires_at = machine.fires_at();
    auto const until = machine.valid_until().time_since_epoch().count();
    // A shorter validity is published before the token's instant moves, a longer one only if the token is not
    // cancelled.
    if (until < valid_until_.load(std::memory_order_relaxed))
        valid_until_.store(until, std::memory_order_release);
    if (!token_.set_fires_at(fires_at, machine.fires_because()))
        return false;
    valid_until_.store(until, std::memory_order_release);
    ttl_.store(machine.granted_ttl().count(), std::memory_order_release);
    // only this function writes it
    if (risk != shows_risk()) {
        at_risk_.store(risk, std::memory_order_release);
        if (risk)
            notify_risk_waiters({});
    }
    return true;
}

void LeaseRecord::notify_risk_waiters(error_code error)
{
    std::unique_lock lock(token_.mutex());
    auto waiting = risk_waiters_.take_all();
    lock.unlock();
    Waiters::post_all(std::move(waiting), error);
}

void LeaseRecord::wait_at_risk(LeaseRecordPtr const& record, Waiters::Handler handler)
{
    if (record->forked()) {
        std::move(handler).complete_at_once(make_error_code(errc::forked));
        return;
    }
    (void)record->token_.cancelled(); // cancels it if it is late
    std::unique_lock lock(record->token_.mutex());
    auto const ends_with = [&]() -> std::optional<error_code> {
        if (record->released())
            return make_error_code(errc::released);
        if (record->token_.reason() != CancelReason::none)
            return make_error_code(errc::lease_lost);
        return record->shows_risk() ? std::optional(error_code()) : std::nullopt;
    }();
    if (!ends_with) {
        record->risk_waiters_.add(std::move(handler), {record, &record->token_.mutex()});
        return;
    }
    lock.unlock();
    std::move(handler).complete_at_once(*ends_with);
}

} // namespace tenure::engine
