// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// HeldKey: acquisitions, ReentrantLeases and the release of one key.
#include "held_key.hpp"

#include "engine/machines/lease_terms.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <stdexcept>

namespace tenure::locks
{

namespace
{

using std::chrono::milliseconds;

/// deadline of a single try, which ends no other wait
constexpr Instant at_once = Instant::min();
/// limit of a single try that waits for the answer to a release
constexpr milliseconds longest_try{2000};

std::string text(milliseconds time)
{
    return std::to_string(time.count()) + " ms";
}

/** True if a lease on this share is as good as one on the other: the same one, or alone on the key. */
bool covers(std::optional<Share> const& share, std::optional<Share> const& other) noexcept
{
    return share == other || (share && other && share->exclusive());
}

/** True unless the lock would always refuse these options. */
bool can_work(EngineLock const& lock, AcquireOptions const& options, bool is_try)
{
    auto const wait = options.wait.value_or(milliseconds{0});
    if (wait < milliseconds{0} || (is_try && wait > milliseconds{0}) || options.prefer || options.permits != 1)
        return false;
    try {
        if (options.ttl)
            static_cast<void>(lock.target().terms_for(*options.ttl));
        return true;
    } catch (std::invalid_argument const&) {
        return false;
    }
}

/** Lets the lock refuse the options, with its own error text. */
void refuse_options(EngineLock const& lock, AcquireOptions const& options, bool is_try, HeldKey::Handler handler)
{
    engine::acquire(
        lock.state_for(), options, is_try,
        [handler = std::move(handler)](engine::Known known, error_code error, Lease const&) mutable {
            std::move(handler).complete(known, error, ReentrantLease());
        },
        {});
}

} // namespace

HeldKey::HeldKey(HolderPtr holder, EngineLock const& lock)
    : holder_(std::move(holder))
    , store_(lock.core())
    , key_(lock.key())
{
}

void HeldKey::acquire(
    HolderPtr const& holder, Lock const& lock, AcquireOptions const& options, bool is_try,
    asio::any_completion_handler<void(error_code, ReentrantLease)> waits)
{
    EngineLock const asked(lock);
    auto const& core = asked.core();
    Handler handler(std::move(waits), core->runtime().get());
    if (!core->same_process() || holder->forked()) {
        std::move(handler).complete_at_once(make_error_code(errc::forked), ReentrantLease());
        return;
    }
    if (!can_work(asked, options, is_try)) {
        refuse_options(asked, options, is_try, std::move(handler));
        return;
    }
    holder->change([&](Afterwards& afterwards) {
        auto key = holder->find(core, asked.key());
        auto const grant = key ? key->grant_.lock() : nullptr;
        // their last owners may be here
        afterwards.emplace_back([key, grant] {});
        auto refusal = key ? key->refuse(asked, options.ttl) : std::nullopt;
        bool const held = key && key->held_;
        if (!refusal && !held)
            refusal = holder->refuse(core, asked.key(), true);
        if (refusal) {
            afterwards.emplace_back([&, refusal = std::move(*refusal)]() mutable {
                auto const failing = core->store_log().refuse(refusal.error, std::move(refusal.words));
                std::move(handler).complete_at_once(refusal.error, ReentrantLease());
            });
        } else if (held) {
            afterwards.emplace_back([&handler, hold = reenter(grant)]() mutable {
                std::move(handler).complete_at_once({}, std::move(hold));
            });
        } else if (core->is_closed()) {
            afterwards.emplace_back(
                [&handler] { std::move(handler).complete_at_once(make_error_code(errc::closed), ReentrantLease()); });
        } else {
            if (!key) {
                key = std::make_shared<HeldKey>(holder, asked);
                holder->add(core, asked.key(), key);
            }
            key->wait(asked, options, is_try, std::move(handler));
        }
    });
}

bool HeldKey::lost() const noexcept
{
    return held_ && grant_.lock()->lease.state() == LeaseState::lost;
}

Refusal HeldKey::refuse_after_loss() const
{
    return {
        make_error_code(errc::lease_lost),
        key_ + " was not acquired: the holder has lost its lease on it, and ReentrantLeases of that lease are left (" +
            std::to_string(grant_.lock()->depth) + "); stop the work that they cover, and end them first"};
}

std::optional<Refusal> HeldKey::refuse(EngineLock const& lock, std::optional<milliseconds> ttl) const
{
    if (lost())
        return refuse_after_loss();
    bool const any = held_ || !waiters_.empty();
    if (any && !covers(share(), lock.target().share()))
        return Refusal{
            make_error_code(errc::would_deadlock),
            lock.key() + " was not acquired: the holder " + (held_ ? "holds it" : "asks for it") +
                " by a lock of another kind, such as for reading, so the call would wait for itself; to write, begin "
                "with the write lock, or release the other one first"};
    if (any && ttl && *ttl != ttl_)
        return Refusal{
            make_error_code(boost::system::errc::invalid_argument),
            "AcquireOptions::ttl is " + text(*ttl) + ": the holder " + (held_ ? "holds " : "asks for ") + lock.key() +
                " with " + text(ttl_) + ", and further acquisitions share that lease; leave the ttl out"};
    return std::nullopt;
}

std::optional<Share> const& HeldKey::share() const noexcept
{
    return held_ ? grant_.lock()->share : waiters_.front().lock.target().share();
}

ReentrantLease HeldKey::reenter(std::shared_ptr<Grant> const& grant)
{
    auto entry = std::make_shared<Entry>();
    entry->grant = grant;
    ++grant->depth;
    return ReentrantLease(std::move(entry));
}

void HeldKey::grant(Attempt const& attempt, Lease lease, Afterwards& afterwards)
{
    auto const grant = std::make_shared<Grant>();
    grant->lease = std::move(lease);
    grant->key = shared_from_this();
    grant->runtime = waiters_.front().lock.core()->runtime();
    grant->share = attempt.share;
    grant_ = grant;
    held_ = true;
    holder_->note(store_, key_, true);
    for (auto& waiter : waiters_)
        complete(afterwards, std::move(waiter), {}, reenter(grant));
    waiters_.clear();
    cancel_attempts();
}

void HeldKey::end(std::shared_ptr<Entry> const& entry, std::optional<ReleaseHandler> handler)
{
    auto const reply = [&](error_code error, ReleaseOutcome outcome) {
        if (handler)
            std::move(*handler).complete_at_once(error, outcome);
    };
    auto const& grant = entry->grant;
    auto const self = grant->key;
    if (self->holder_->forked())
        return reply(make_error_code(errc::forked), ReleaseOutcome::unconfirmed);
    if (entry->ended.exchange(true))
        return reply(make_error_code(errc::released), ReleaseOutcome::was_lost);
    self->holder_->change([&](Afterwards& afterwards) {
        if (--grant->depth > 0) {
            afterwards.emplace_back([&] { reply({}, ReleaseOutcome::still_held); });
            return;
        }
        self->held_ = false;
        self->releasing_ = true;
        self->holder_->note(self->store_, self->key_, false);
        auto call = handler ? ReleaseCall::start(std::move(*handler), grant->runtime, detail::partial_cancellation)
                            : std::make_shared<ReleaseCall>();
        auto const release = std::make_shared<Release>(grant->runtime, std::move(call));
        self->release_ = release;
        afterwards.emplace_back([&grant, release] { start(grant, release); });
    });
}

void HeldKey::start(std::shared_ptr<Grant> const& grant, std::shared_ptr<Release> const& release)
{
    // the context is being destroyed and accepts no further request
    if (auto const core = grant->key->store_.lock(); !core || core->abandoned())
        return;
    // the key waits for the answer even without a waiting caller
    grant->lease.async_release([grant, release](error_code error, ReleaseOutcome outcome) {
        grant->key->released();
        release->runtime->strand().execute([release, error, outcome] {
            release->limits.clear();
            release->call->complete(error, outcome);
        });
    });
}

void HeldKey::released()
{
    holder_->change([&](Afterwards&) {
        releasing_ = false;
        grant_.reset();
        if (!waiters_.empty())
            ask();
        settle();
    });
}

void HeldKey::settle()
{
    if (waiters_.empty() && attempts_.empty() && !held_ && !releasing_)
        holder_->remove(store_, key_, *this);
}

// -- waiters for a ReentrantLease, and the acquisitions that run for them --

void HeldKey::wait(EngineLock const& lock, AcquireOptions const& options, bool is_try, Handler handler)
{
    auto const wait = options.wait.value_or(is_try ? milliseconds{0} : engine::default_wait);
    bool const single = wait == milliseconds{0};
    auto const ttl = options.ttl.value_or(lock.ttl());
    if (waiters_.empty())
        ttl_ = ttl;
    auto slot = handler.slot();
    auto const now = lock.core()->runtime()->now();
    // a reader takes part in the claim of a writer
    bool const alike = waiters_.empty() || share() == lock.target().share();
    auto const& claims = alike ? lock : waiters_.front().lock;
    waiters_.push_back({++last_id_, claims, std::move(handler), is_try, single ? at_once : engine::later(now, wait)});
    auto const& waiter = waiters_.back();
    // Assigned within the change: after it the handler may run, and its cancellation slot may get another use.
    detail::on_cancel(
        slot, detail::every_cancellation, [weak = weak_from_this(), id = waiter.id](asio::cancellation_type) {
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
    auto const release = release_.lock();
    if (release == nullptr)
        return;
    auto const when = engine::later(release->runtime->now(), time);
    if (when == Instant::max())
        return;
    release->runtime->strand().execute([weak = weak_from_this(), release, when, id = waiter.id] {
        release->limits.emplace_back(*release->runtime).at(when, weak, [id](HeldKey& self) {
            self.stop_waiting(id, make_error_code(errc::store_unavailable));
        });
    });
}

void HeldKey::stop_waiting(Id id, error_code error)
{
    holder_->change([&](Afterwards& afterwards) {
        bool const late = error != asio::error::operation_aborted;
        auto const found = std::ranges::find(waiters_, id, &Waiter::id);
        if (found == waiters_.end() || (late && !releasing_))
            return;
        if (late)
            afterwards.emplace_back([this, error, waiter = std::move(*found)]() mutable {
                auto words = key_ + ": the release of the holder's last ReentrantLease was not answered in time, and "
                                    "the key is not claimed before";
                FailsWith const failing(words);
                waiter.lock.core()->store_log().record_error(error, std::move(words));
                std::move(waiter.handler).post(error, ReentrantLease());
            });
        else
            complete(afterwards, std::move(*found), error);
        waiters_.erase(found);
        if (waiters_.empty())
            cancel_attempts();
        settle();
    });
}

void HeldKey::complete(Afterwards& afterwards, Waiter waiter, error_code error, ReentrantLease hold)
{
    afterwards.emplace_back([waiter = std::move(waiter), error, hold = std::move(hold)]() mutable {
        std::move(waiter.handler).post(error, std::move(hold));
    });
}

void HeldKey::ask()
{
    // An attempt serves all waiters with the same or a later deadline. Single tries only share the attempts of single
    // tries.
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
        // A wait whose deadline is now must not become a single try, which may take longer.
        options.wait = std::max(
            milliseconds{1}, std::chrono::ceil<milliseconds>(waiter.deadline - waiter.lock.core()->runtime()->now()));
    auto const attempt = std::make_shared<Attempt>();
    attempt->deadline = waiter.deadline;
    attempt->share = waiter.lock.target().share();
    attempts_.push_back(attempt);
    waiter.lock.async_acquire(
        options, asio::bind_cancellation_slot(
                     attempt->cancel.slot(), [self = shared_from_this(), attempt](error_code error, Lease lease) {
                         FailsWith const failing(DeliversDetails::take());
                         self->answered(attempt, error, std::move(lease));
                     }));
}

void HeldKey::answered(AttemptPtr const& attempt, error_code error, Lease lease)
{
    holder_->change([&](Afterwards& afterwards) {
        bool const asked = std::erase(attempts_, attempt) > 0;
        // includes a grant that came after its cancellation
        if (!lease.empty() && !waiters_.empty() && !held_ && !releasing_ && covers(attempt->share, share()))
            grant(*attempt, std::move(lease), afterwards);
        else if (lease.empty() && asked)
            give_up(*attempt, error, afterwards);
        settle();
    });
}

void HeldKey::give_up(Attempt const& attempt, error_code error, Afterwards& afterwards)
{
    if (waiters_.empty())
        return;
    // an error before the deadline concerns all waiters
    bool const fatal = attempt.deadline > waiters_.front().lock.core()->runtime()->now();
    auto const goes_on = [&](Waiter const& waiter) { return !fatal && waiter.deadline > attempt.deadline; };
    auto const over = std::ranges::stable_partition(waiters_, goes_on);
    for (auto& waiter : over) {
        auto const result = waiter.is_try && error == errc::timed_out ? error_code() : error;
        complete(afterwards, std::move(waiter), result);
    }
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

} // namespace tenure::locks
