// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MultiAcquisition: claims several locks, all or none.
#include "multi_acquisition.hpp"

#include "held_set.hpp"

#include "engine/core.hpp"
#include "engine/lease_target.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace tenure::locks
{

using std::chrono::milliseconds;

void MultiAcquisition::start_single(
    OrderedLocks const& locks, AcquireOptions const& options, bool is_try, Handler handler)
{
    auto const slot = handler.slot();
    auto answered = [runtime = locks.core().runtime(),
                     handler = std::move(handler)](error_code error, Lease lease) mutable {
        LeaseSet set;
        if (lease) {
            std::vector<Lease> leases;
            leases.push_back(std::move(lease));
            set = LeaseSet(std::make_shared<HeldSet>(runtime, std::move(leases)));
        }
        std::move(handler).post(error, std::move(set));
    };
    locks.target(0)->acquire(options, is_try, std::move(answered), slot);
}

void MultiAcquisition::start(
    std::shared_ptr<OrderedLocks const> locks, AcquireOptions const& options, bool is_try, Handler handler)
{
    if (locks->size() == 1) {
        start_single(*locks, options, is_try, std::move(handler));
        return;
    }
    auto self = std::make_shared<MultiAcquisition>(std::move(locks), options, is_try, std::move(handler));
    auto slot = self->handler_->slot();
    if (slot.is_connected())
        slot.assign([weak = std::weak_ptr(self)](asio::cancellation_type) {
            if (auto alive = weak.lock())
                alive->runtime_->post([alive] { alive->end_with(asio::error::operation_aborted); });
        });
    auto const runtime = self->runtime_;
    runtime->strand().execute([self = std::move(self)] { self->begin(); });
}

MultiAcquisition::MultiAcquisition(
    std::shared_ptr<OrderedLocks const> locks, AcquireOptions const& options, bool is_try, Handler handler)
    : locks_(std::move(locks))
    , runtime_(locks_->core().runtime())
    , options_(options)
    , is_try_(is_try)
    , handler_(std::move(handler))
    , parts_(locks_->size())
{
    options_.wait = options_.wait.value_or(is_try ? milliseconds{0} : engine::default_wait);
}

void MultiAcquisition::begin()
{
    if (!handler_)
        return;
    auto const wait = *options_.wait;
    if (wait < milliseconds{0} || (is_try_ && wait != milliseconds{0}) || options_.prefer) {
        refuse_options();
        return;
    }
    if (wait > milliseconds{0}) {
        deadline_ = engine::later(runtime_->now(), wait);
        if (deadline_ != Instant::max())
            timer_.at(deadline_, weak_from_this(), [](MultiAcquisition& self) {
                self.end_with(self.why_busy_ ? self.why_busy_ : make_error_code(errc::store_unavailable));
            });
    }
    claim();
}

void MultiAcquisition::refuse_options()
{
    // a single lock refuses the same options, with a better error text
    auto refused = [self = shared_from_this()](error_code error, Lease const&) {
        self->runtime_->post([self, error] { self->end_with(error); });
    };
    locks_->target(0)->acquire(options_, is_try_, std::move(refused), {});
}

void MultiAcquisition::end_with(error_code error)
{
    if (!handler_ || ends_with_)
        return;
    ends_with_ = error;
    auto const self = shared_from_this();
    // counts the cancellations, so that the last answer does not complete the acquisition during them
    ++missing_;
    for (auto& part : parts_)
        part.cancel.emit(asio::cancellation_type::terminal);
    if (--missing_ == 0)
        complete(error);
}

milliseconds MultiAcquisition::time_left() const
{
    if (deadline_ == Instant::max())
        return forever;
    return std::max(std::chrono::ceil<milliseconds>(deadline_ - runtime_->now()), milliseconds{1});
}

void MultiAcquisition::acquire(std::size_t position, milliseconds wait)
{
    ++missing_;
    locks_->target(position)->acquire(
        {.wait = wait, .ttl = options_.ttl}, false,
        [self = shared_from_this(), position](error_code error, Lease lease) {
            if (!error && self->is_here(position) && self->missing_ > 1) {
                // of many leases of one store only the last one is worth a task
                --self->missing_;
                self->parts_[position].lease = std::move(lease);
                return;
            }
            self->runtime_->post([self, position, error, lease = std::move(lease)]() mutable {
                self->answered(position, error, std::move(lease));
            });
        },
        parts_[position].cancel.slot());
}

bool MultiAcquisition::is_here(std::size_t position) const noexcept
{
    return locks_->target(position)->handle()->core().get() == &locks_->core();
}

void MultiAcquisition::claim()
{
    first_busy_ = parts_.size();
    // counts this loop, so that no answer completes the acquisition before all requests are sent
    ++missing_;
    engine::Core::ClaimsTogether const together(locks_->core());
    for (std::size_t position = 0; position < parts_.size(); ++position) {
        auto& lease = parts_[position].lease;
        if (lease && !lease.token().cancelled())
            continue;
        lease = Lease();
        acquire(position, milliseconds{0});
    }
    if (--missing_ == 0)
        decide();
}

void MultiAcquisition::wait_for(std::size_t position)
{
    first_busy_ = parts_.size();
    acquire(position, time_left());
}

void MultiAcquisition::answered(std::size_t position, error_code error, Lease lease)
{
    --missing_;
    parts_[position].lease = std::move(lease);
    if (error == condition::try_later) {
        if (position < first_busy_) {
            first_busy_ = position;
            why_busy_ = error;
        }
    } else if (error && !ends_with_) {
        end_with(error);
        return;
    }
    if (missing_ == 0)
        decide();
}

void MultiAcquisition::decide()
{
    if (!handler_)
        return;
    if (ends_with_) {
        complete(*ends_with_);
        return;
    }
    if (first_busy_ < parts_.size()) {
        if (*options_.wait == milliseconds{0}) {
            complete(why_busy_);
            return;
        }
        for (auto position = first_busy_ + 1; position < parts_.size(); ++position)
            parts_[position].lease = Lease();
        wait_for(first_busy_);
        return;
    }
    // other locks are missing after the wait for a single one, or after the loss of a lease
    if (std::ranges::all_of(parts_, [](Part const& part) { return part.lease && !part.lease.token().cancelled(); }))
        complete({});
    else
        claim();
}

void MultiAcquisition::complete(error_code error)
{
    auto handler = std::exchange(handler_, std::nullopt);
    timer_.cancel();
    LeaseSet set;
    if (!error) {
        std::vector<Lease> leases;
        leases.reserve(parts_.size());
        for (auto const position : locks_->as_named())
            leases.push_back(std::move(parts_[position].lease));
        set = LeaseSet(std::make_shared<HeldSet>(runtime_, std::move(leases)));
    }
    for (auto& part : parts_)
        part.lease = Lease();
    if (is_try_ && error == errc::timed_out)
        error = {};
    std::move(*handler).post(error, std::move(set));
}

} // namespace tenure::locks
