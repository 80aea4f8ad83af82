// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "lease_record.hpp"

#include <tenure/errc.hpp>

namespace tenure::engine
{

LeaseRecord::LeaseRecord(
    std::shared_ptr<Handle> handle, std::shared_ptr<Runtime> runtime, ClaimPtr claim, LeaseTerms const& terms,
    Granted const& grant, Instant now)
    : machine(terms, grant.since, grant.ttl, now)
    , runtime_(std::move(runtime))
    , claim_(std::move(claim))
    , key_(claim_->range->numbered ? claim_->key() : std::string())
    , notifications_(terms.notifications)
    , token_(runtime_, machine.fires_at(), machine.fires_because())
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
    return !released() && token_.reason() != CancelReason::not_owner && !forked() && runtime_->now() < valid_until();
}

LeaseState LeaseRecord::state() const noexcept
{
    if (released() || forked())
        return LeaseState::released;
    if (token_.cancelled())
        return LeaseState::cancelled;
    return at_risk_.load(std::memory_order_acquire) ? LeaseState::at_risk : LeaseState::held;
}

std::shared_ptr<Handle> LeaseRecord::handle() noexcept
{
    std::lock_guard const lock(mutex_);
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
    claim_->ended.store(true, std::memory_order_release);
    // in a child a thread that is not here may have the mutex for ever
    if (forked())
        return nullptr;
    std::unique_lock lock(mutex_);
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
    // a shorter validity is shown before the token's instant moves, a longer one only if the token is still live
    if (until < valid_until_.load(std::memory_order_relaxed))
        valid_until_.store(until, std::memory_order_release);
    if (!token_.set_fires_at(fires_at, machine.fires_because()))
        return false;
    valid_until_.store(until, std::memory_order_release);
    ttl_.store(machine.granted_ttl().count(), std::memory_order_release);
    // written here only
    if (risk != shows_risk()) {
        at_risk_.store(risk, std::memory_order_release);
        if (risk)
            tell_risk_waiters({});
    }
    return true;
}

void LeaseRecord::tell_risk_waiters(error_code error)
{
    std::unique_lock lock(mutex_);
    auto waiting = risk_waiters_.take_all();
    lock.unlock();
    Waiters::post_all(std::move(waiting), error);
}

void LeaseRecord::wait_at_risk(LeaseRecordPtr const& record, Waiters::Handler handler)
{
    if (record->forked()) {
        std::move(handler).post(make_error_code(errc::forked));
        return;
    }
    std::unique_lock lock(record->mutex_);
    auto const state = record->state();
    if (state != LeaseState::held) {
        lock.unlock();
        auto const error = state == LeaseState::at_risk
                               ? error_code()
                               : make_error_code(state == LeaseState::cancelled ? errc::lease_lost : errc::released);
        std::move(handler).post(error);
        return;
    }
    record->risk_waiters_.add(std::move(handler), {record, &record->mutex_});
}

} // namespace tenure::engine
