// Part of tenure, under the Boost Software License 1.0 (see LICENSE). The waiters for a Hold, and their pending
// acquisitions.
#include "held_key.hpp"

#include "engine/machines/lease_terms.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>

namespace tenure::locks
{

namespace
{

using std::chrono::milliseconds;

/// the deadline of a try; no other wait ends with it
constexpr Instant at_once = Instant::min();
/// a try waits no longer for the answer to a release
constexpr milliseconds longest_try{2000};

} // namespace

void HeldKey::wait(EngineLock const& lock, AcquireOptions const& options, bool is_try, Handler handler)
{
    auto const wait = options.wait.value_or(is_try ? milliseconds{0} : engine::default_wait);
    bool const single = wait == milliseconds{0};
    auto const ttl = options.ttl != milliseconds{0} ? options.ttl : lock.ttl();
    if (waiters_.empty())
        ttl_ = ttl;
    auto slot = handler.slot();
    auto const now = lock.core()->runtime()->now();
    waiters_.push_back({++last_id_, lock, std::move(handler), is_try, single ? at_once : engine::later(now, wait)});
    auto const& waiter = waiters_.back();
    // assigned with the mutex held: once it is free the handler may run, and its slot may be used for something else
    if (slot.is_connected())
        slot.assign([weak = weak_from_this(), id = waiter.id](asio::cancellation_type) {
            if (auto const self = weak.lock())
                self->stop_waiting(id, asio::error::operation_aborted);
        });
    if (releasing_)
        limit(waiter, single ? std::min(ttl, longest_try) : wait);
    else
        ask();
}

void HeldKey::limit(Waiter const& waiter, milliseconds time)
{
    auto const& runtime = waiter.lock.core()->runtime();
    auto const when = engine::later(runtime->now(), time);
    if (when == Instant::max())
        return;
    runtime->strand().execute([weak = weak_from_this(), runtime, when, id = waiter.id] {
        if (auto const self = weak.lock())
            self->limits_.push_back(runtime->call_at(when, [weak, id] {
                if (auto const late = weak.lock())
                    late->stop_waiting(id, make_error_code(errc::store_unavailable));
            }));
    });
}

void HeldKey::stop_waiting(Id id, error_code error)
{
    if (holder_->forked())
        return;
    std::optional<Waiter> waiter;
    {
        std::lock_guard const guard(holder_->mutex());
        bool const late = error != asio::error::operation_aborted;
        auto const found = std::ranges::find(waiters_, id, &Waiter::id);
        if (found == waiters_.end() || (late && !releasing_))
            return;
        waiter.emplace(std::move(*found));
        waiters_.erase(found);
        if (waiters_.empty())
            cancel_attempts();
        settle();
    }
    if (error == errc::store_unavailable)
        waiter->lock.core()->journal().trouble(
            error,
            key_ +
                ": the release of the holder's last Hold was not answered in time, and the key is not claimed before");
    std::move(waiter->handler).post(error, Hold());
}

void HeldKey::ask()
{
    // one attempt serves all whose wait ends no sooner; that of a try ends by rules of its own
    auto const is_asked_for = [&](Waiter const& waiter) {
        return std::ranges::any_of(attempts_, [&](auto const& one) {
            return (one->deadline == at_once) == (waiter.deadline == at_once) && one->deadline <= waiter.deadline;
        });
    };
    std::ranges::sort(waiters_, {}, &Waiter::deadline);
    for (auto const& waiter : waiters_)
        if (!is_asked_for(waiter))
            ask(waiter);
}

void HeldKey::ask(Waiter const& waiter)
{
    AcquireOptions options;
    options.ttl = ttl_;
    if (waiter.deadline == at_once)
        options.wait = milliseconds{0};
    else if (waiter.deadline == Instant::max())
        options.wait = forever;
    else
        // a wait whose time has just come must not become a try, which takes as long as the store does
        options.wait = std::max(
            milliseconds{1}, std::chrono::ceil<milliseconds>(waiter.deadline - waiter.lock.core()->runtime()->now()));
    auto const attempt = std::make_shared<Attempt>();
    attempt->deadline = waiter.deadline;
    attempts_.push_back(attempt);
    waiter.lock.async_acquire(
        options, asio::bind_cancellation_slot(
                     attempt->cancel.slot(), [self = shared_from_this(), attempt](error_code error, Lease lease) {
                         self->answered(attempt, error, std::move(lease));
                     }));
}

void HeldKey::answered(AttemptPtr const& attempt, error_code error, Lease lease)
{
    if (holder_->forked())
        return;
    std::vector<Ended> ended;
    {
        std::lock_guard const guard(holder_->mutex());
        bool const asked = std::erase(attempts_, attempt) > 0;
        // includes an acquisition that was cancelled without waiters but granted nevertheless
        if (lease && !waiters_.empty() && !held_ && !releasing_)
            grant(std::move(lease), ended);
        else if (!lease && asked)
            give_up(*attempt, error, ended);
        settle();
    }
    post(std::move(ended));
}

void HeldKey::give_up(Attempt const& attempt, error_code error, std::vector<Ended>& ended)
{
    if (waiters_.empty())
        return;
    // an error before the time is over concerns all who ask
    bool const fatal = attempt.deadline > waiters_.front().lock.core()->runtime()->now();
    auto const goes_on = [&](Waiter const& waiter) { return !fatal && waiter.deadline > attempt.deadline; };
    auto const over = std::ranges::stable_partition(waiters_, goes_on);
    for (auto& waiter : over)
        ended.push_back(
            {std::move(waiter.handler), waiter.is_try && error == errc::timed_out ? error_code() : error, {}});
    waiters_.erase(over.begin(), over.end());
    if (waiters_.empty())
        cancel_attempts();
    ask();
}

void HeldKey::cancel_attempts()
{
    for (auto const& attempt : std::exchange(attempts_, {}))
        attempt->cancel.emit(asio::cancellation_type::terminal);
}

void HeldKey::cancel_limits(std::shared_ptr<Runtime> const& runtime)
{
    runtime->strand().execute([self = shared_from_this(), runtime] {
        for (auto const timer : std::exchange(self->limits_, {}))
            runtime->cancel(timer);
    });
}

void HeldKey::post(std::vector<Ended> ended)
{
    for (auto& one : ended)
        std::move(one.handler).post(one.error, std::move(one.hold));
}

} // namespace tenure::locks
