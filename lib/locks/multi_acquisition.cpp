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

namespace
{

/** True if each of several locks refuses the options, or the store of the first one is closed. */
bool refuses(OrderedLocks const& locks, AcquireOptions const& options, bool is_try)
{
    auto const& core = locks.core();
    auto const wait = options.wait.value_or(milliseconds{0});
    return core.is_closed() || wait < milliseconds{0} || (is_try && wait != milliseconds{0}) || options.prefer ||
           options.permits != 1;
}

} // namespace

void MultiAcquisition::start_single(
    OrderedLocks const& locks, AcquireOptions const& options, bool is_try, Handler handler)
{
    auto const slot = handler.slot();
    auto answered = [runtime = locks.core().runtime(),
                     handler = std::move(handler)](engine::Known known, error_code error, Lease lease) mutable {
        LeaseSet set;
        if (!lease.empty()) {
            std::vector<Lease> leases;
            leases.push_back(std::move(lease));
            set = HeldSet::make(runtime, std::move(leases));
        }
        std::move(handler).complete(known, error, std::move(set));
    };
    engine::acquire(locks.target(0), options, is_try, std::move(answered), slot);
}

void MultiAcquisition::start(
    std::shared_ptr<OrderedLocks const> locks, AcquireOptions const& options, bool is_try, Handler handler)
{
    // the first lock refuses what no lock accepts
    if (locks->size() == 1 || refuses(*locks, options, is_try)) {
        start_single(*locks, options, is_try, std::move(handler));
        return;
    }
    auto self = std::make_shared<MultiAcquisition>(std::move(locks), options, is_try, std::move(handler));
    auto cancel = [weak = std::weak_ptr(self)](asio::cancellation_type) {
        if (auto alive = weak.lock())
            alive->runtime_->post([alive] { alive->end_with(asio::error::operation_aborted); });
    };
    detail::on_cancel(self->handler_->slot(), detail::every_cancellation, std::move(cancel));
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
    for (std::size_t position = 0; position < parts_.size(); ++position)
        parts_[position].event_context = locks_->target(position)->handle()->core()->events().context();
}

void MultiAcquisition::begin()
{
    if (!ends_with_ && *options_.wait > milliseconds{0}) {
        deadline_ = engine::later(runtime_->now(), *options_.wait);
        if (deadline_ != Instant::max())
            timer_.at(deadline_, weak_from_this(), [](MultiAcquisition& self) {
                self.end_with(self.why_busy_ ? self.why_busy_ : make_error_code(errc::store_unavailable));
            });
    }
    auto const self = shared_from_this();
    in_steps(self).start([self](error_code error) { self->complete(error); });
}

/** Claims every missing lock at once. While others hold some of them, waits for the first of these. */
store::Request<error_code> MultiAcquisition::in_steps(std::shared_ptr<MultiAcquisition> self)
{
    auto const wait = *self->options_.wait;
    while (!self->ends_with_) {
        auto missing = self->missing();
        if (missing.empty())
            co_return error_code();
        auto claims = self->acquire(std::move(missing), {.wait = milliseconds{0}, .ttl = self->options_.ttl});
        co_await claims;
        while (self->first_busy_ && !self->ends_with_) {
            if (wait == milliseconds{0})
                co_return self->why_busy_;
            auto const busy = *self->first_busy_;
            for (auto later = busy + 1; later < self->parts_.size(); ++later)
                self->parts_[later].lease = Lease();
            auto wait_for_it = self->acquire({busy}, {.wait = self->time_left(), .ttl = self->options_.ttl});
            co_await wait_for_it;
        }
    }
    co_return *self->ends_with_;
}

void MultiAcquisition::end_with(error_code error, ErrorDetails details)
{
    if (!handler_ || ends_with_)
        return;
    ends_with_ = error;
    if (error != why_busy_)
        details_ = std::move(details);
    auto const self = shared_from_this();
    for (auto& part : parts_)
        part.cancel.emit(asio::cancellation_type::terminal);
}

milliseconds MultiAcquisition::time_left() const
{
    if (deadline_ == Instant::max())
        return forever;
    return std::max(std::chrono::ceil<milliseconds>(deadline_ - runtime_->now()), milliseconds{1});
}

std::vector<std::size_t> MultiAcquisition::missing()
{
    std::vector<std::size_t> positions;
    for (std::size_t position = 0; position < parts_.size(); ++position) {
        auto& lease = parts_[position].lease;
        if (!lease.empty() && !lease.token().cancelled())
            continue;
        lease = Lease();
        positions.push_back(position);
    }
    return positions;
}

store::Step<MultiAcquisition::Answered>
MultiAcquisition::acquire(std::vector<std::size_t> positions, AcquireOptions const& options)
{
    first_busy_.reset();
    return store::Step<Answered>([self = shared_from_this(), positions = std::move(positions),
                                  options](OneShot<void(Answered&&)> handler) mutable {
        auto const together = std::make_shared<Together>(Together{positions.size(), std::move(handler)});
        engine::Core::ClaimsTogether const in_one_write(self->locks_->core());
        for (auto const position : positions)
            self->acquire(position, options, together);
    });
}

void MultiAcquisition::acquire(
    std::size_t position, AcquireOptions const& options, std::shared_ptr<Together> const& together)
{
    auto answered = [self = shared_from_this(), position, together](engine::Known, error_code error, Lease lease) {
        if (!error && self->is_here(position) && together->open > 1) {
            // of many leases of one store only the last one is worth a task
            --together->open;
            self->parts_[position].lease = std::move(lease);
            return;
        }
        self->runtime_->post(
            [self, position, together, error, lease = std::move(lease), details = FailsWith::now()]() mutable {
                self->answered(position, error, std::move(lease), std::move(details));
                if (--together->open == 0)
                    std::move(together->handler)(Answered{});
            });
    };
    auto& part = parts_[position];
    engine::acquire_for(
        part.event_context, locks_->target(position), options, false, std::move(answered), part.cancel.slot());
}

bool MultiAcquisition::is_here(std::size_t position) const noexcept
{
    return locks_->target(position)->handle()->core().get() == &locks_->core();
}

void MultiAcquisition::answered(std::size_t position, error_code error, Lease lease, ErrorDetails details)
{
    parts_[position].lease = std::move(lease);
    if (error == condition::try_later) {
        if (position < first_busy_.value_or(parts_.size())) {
            first_busy_ = position;
            why_busy_ = error;
            if (!ends_with_)
                details_ = std::move(details);
        }
    } else if (error) {
        end_with(error, std::move(details));
    }
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
        set = HeldSet::make(runtime_, std::move(leases));
    }
    for (auto& part : parts_)
        part.lease = Lease();
    if (is_try_ && error == errc::timed_out)
        error = {};
    FailsWith const failing(error ? std::move(details_) : nullptr);
    std::move(*handler).post(error, std::move(set));
}

} // namespace tenure::locks
