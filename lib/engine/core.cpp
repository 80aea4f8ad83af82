// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Core: starts and closes a store, and connects the parts of its engine.
#include "core.hpp"

#include "runtime/context_guard.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/query.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::engine
{

namespace
{

/// limit of the retries of a store without users; after it keys expire by their ttl
constexpr std::chrono::seconds closing_time{1};

} // namespace

Core::Core(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, std::string worker_name, std::string order_name,
    EventHook on_event, EventContext event_context)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
    , worker_name_(std::move(worker_name))
    , order_name_(std::move(order_name))
    , capabilities_(backend_->capabilities())
    , store_log_(runtime_, backend_->describe())
    , events_(std::move(on_event), std::move(event_context), store_log_.store(), counters_.events_dropped)
    , lines_(runtime_, store_log_, [this] { return busy(); })
    , keeper_(std::make_shared<Keeper>(runtime_, backend_, counters_, store_log_, lines_, events_))
    , releases_(std::make_shared<ReleaseQueue>(runtime_, backend_, counters_, store_log_, lines_))
    , queues_(runtime_, backend_)
    , places_(runtime_, backend_)
{
}

void Core::start()
{
    auto const weak = weak_from_this();
    auto& context = asio::query(runtime_->user_executor(), asio::execution::context);
    if (auto* const thread = own_thread_of(*runtime_)) {
        notify_end_of(context, thread->weak_from_this());
        thread->serve(weak);
    } else {
        notify_end_of(context, weak);
    }
    releases_->on_done([weak](ReleaseQueue::Finished const& done) {
        if (auto const core = weak.lock())
            core->release_done(done);
    });
    runtime_->strand().execute([self = shared_from_this(), weak] {
        if (!self->closed_)
            self->backend_->on_reachable([weak] {
                if (auto core = weak.lock(); core && !core->closed_) {
                    core->keeper_->reachable();
                    core->releases_->reachable();
                    for (auto const& follower : core->followers_)
                        follower->reachable();
                }
            });
    });
}

void Core::add(std::shared_ptr<Acquisition> acquisition)
{
    auto& added = *acquisition;
    added.position_ = spare_.append(acquisitions_, std::move(acquisition));
    add_one(counters_.waiting);
    add_one(added.name_counters().waiting);
    lines_.work_began();
}

void Core::remove(Acquisition& acquisition)
{
    take_one(counters_.waiting);
    take_one(acquisition.name_counters().waiting);
    spare_.take(acquisitions_, acquisition.position_);
    lines_.work_ended();
    if (closing_)
        close_soon();
}

bool Core::add(std::shared_ptr<Follower> follower)
{
    if (closed_ || refuses_claims_)
        return false;
    followers_.push_back(std::move(follower));
    return true;
}

void Core::remove(Follower const& follower) noexcept
{
    std::erase_if(followers_, [&](auto const& one) { return one.get() == &follower; });
}

void Core::end_followers()
{
    for (auto const& follower : std::exchange(followers_, {}))
        follower->store_closes();
}

void Core::claim_ends()
{
    --claims_;
    if (closing_)
        close_if_idle();
}

void Core::drop_abandoned()
{
    if (closed_ || drop_posted_)
        return;
    runtime_->post([self = shared_from_this()] {
        self->drop_posted_ = false;
        if (!self->closed_)
            self->backend_->drop_abandoned();
    });
    drop_posted_ = true;
}

void Core::lease_ends(LeaseRecord& record, Instant now)
{
    keeper_->remove(record, now);
    if (now > record.valid_until())
        add_one(counters_.held_past_expiry);
    events_.happened(Event::Kind::released, record, now);
}

void Core::release(LeaseRecordPtr const& record, ReleaseQueue::PendingReleasePtr const& pending)
{
    auto const now = runtime_->now();
    lease_ends(*record, now);
    if (closed_) {
        pending->notify(ReleaseOutcome::unconfirmed);
        return;
    }
    if (record->notifications())
        queues_.release_begins(*record->claim().range, now);
    bool const lost = is_loss(record->token().reason());
    releases_->begin(
        KeyToFree{record->claim_ptr(), record->notifications(), false, lost}, record->machine.longest_ttl(), now,
        pending);
    if (lost && closing_)
        releases_->hurry_lost(now);
    withdraw_second_key(*record);
}

void Core::leave(LeaseRecord& record)
{
    lease_ends(record, runtime_->now());
    if (closing_)
        close_soon();
}

void Core::detach(LeaseRecordPtr const& record, milliseconds remaining, std::shared_ptr<Call<>> call)
{
    auto const now = runtime_->now();
    lease_ends(*record, now);
    if (closed_) {
        call->complete(make_error_code(errc::store_unavailable));
        return;
    }
    // the key stays taken at least for its quarantine
    auto const keep_for =
        remaining > milliseconds{0} ? std::max(remaining, record->claim().reuse_after) : milliseconds{0};
    releases_->begin(Detachment{record, keep_for, std::move(call)}, record->machine.longest_ttl(), now);
    if (closing_)
        releases_->hurry_lost(now);
}

void Core::release_done(ReleaseQueue::Finished const& done)
{
    if (auto const* const detachment = std::get_if<Detachment>(&done.request)) {
        detachment->record->detachment_ends();
        // only now: an earlier request might free the key that is to be kept
        withdraw_second_key(*detachment->record);
    } else if (auto const* const key = std::get_if<KeyToFree>(&done.request)) {
        queues_.release_ends(key->claim->range, done.outcome == ReleaseOutcome::released, done.named_another);
    } else if (done.named_another) {
        // only a withdrawal that found a key has freed one
        queues_.release_ends(std::get<Withdrawal>(done.request).range, true, true);
    }
    if (releases_->idle()) {
        lines_.work_ended();
        close_if_idle();
    }
}

void Core::withdraw_second_key(LeaseRecord const& record)
{
    auto const& claim = record.claim();
    // the withdrawal may reach the store before the release, and find the held key
    if (record.second_key && claim.range->count > 1)
        withdraw(claim.range, claim.owner, record.machine.longest_ttl(), record.notifications(), claim.reuse_after);
}

void Core::give_back(ClaimPtr claim, milliseconds lifetime, bool notifications)
{
    add_one(counters_.given_back);
    if (!closed_)
        releases_->begin(KeyToFree{std::move(claim), notifications, true}, lifetime, runtime_->now());
}

void Core::withdraw(
    KeyRangePtr range, std::string owner, milliseconds lifetime, bool notifications, milliseconds reuse_after)
{
    if (!closed_)
        releases_->begin(
            Withdrawal{std::move(range), std::move(owner), notifications, reuse_after}, lifetime, runtime_->now());
}

void Core::handle_gone() noexcept
{
    has_users_.store(false, std::memory_order_release);
    if (!same_process() || abandoned() || is_closed())
        return;
    try {
        runtime_->post([self = shared_from_this()] {
            // the user's `close` may have come first
            if (self->closed_)
                return;
            self->closing_ = true;
            self->until_closed_ = self;
            auto const now = self->runtime_->now();
            self->releases_->hurry(now);
            self->close_at(now + closing_time);
            self->close_if_idle();
        });
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the store closes with its context
    }
}

void Core::close_at(Instant at)
{
    if (closed_ || at >= closes_at_)
        return;
    closes_at_ = at;
    closing_timer_.at(at, weak_from_this(), &Core::close);
}

void Core::close_by(Instant at, std::shared_ptr<Call<>> call)
{
    if (closed_) {
        call->complete({});
        return;
    }
    close_calls_.push_back(std::move(call));
    closing_ = true;
    until_closed_ = shared_from_this();
    if (!std::exchange(refuses_claims_, true)) {
        // a copy, because each acquisition leaves the list at its end
        auto const waiting = std::vector(acquisitions_.begin(), acquisitions_.end());
        for (auto const& acquisition : waiting)
            acquisition->end_with(make_error_code(errc::closed));
        end_followers();
        releases_->hurry_lost(runtime_->now());
    }
    close_at(at);
    close_soon();
}

void Core::notify_closed(error_code error)
{
    for (auto const& call : std::exchange(close_calls_, {}))
        call->complete(error);
}

void Core::close_soon()
{
    runtime_->post([weak = weak_from_this()] {
        if (auto const self = weak.lock())
            self->close_if_idle();
    });
}

bool Core::busy() const noexcept
{
    return !keeper_->empty() || !releases_->idle() || !acquisitions_.empty();
}

void Core::close_if_idle()
{
    if (closing_ && claims_ == 0 && !busy())
        close();
}

void Core::close()
{
    if (closed_)
        return;
    auto const self = std::exchange(until_closed_, nullptr);
    closed_ = true;
    if (auto* const thread = own_thread_of(*runtime_))
        thread->let_go();
    closing_timer_.cancel();
    bool const held = !keeper_->empty();
    if (held)
        store_log_.log(
            LogLevel::warning, "the store was closed while leases were held: stop the work that they cover; their keys "
                               "expire after their ttl");
    queues_.close();
    places_.close();
    end_followers();
    keeper_->close();
    releases_->close();
    lines_.close();
    store_log_.close();
    backend_->shutdown();
    notify_closed(held ? make_error_code(errc::timed_out) : error_code());
    over_.store(true, std::memory_order_release);
}

bool Core::forget_callers() noexcept
try {
    if (!keeper_->empty() || !acquisitions_.empty() ||
        std::ranges::any_of(followers_, [](auto const& one) { return one->has_caller(); }))
        return false;
    close_calls_.clear();
    releases_->forget_callers();
    return true;
} catch (...) { // out of memory
    return false;
}

void Core::failed(std::exception_ptr failure) noexcept
try {
    std::string what = "something that is no std::exception";
    try {
        std::rethrow_exception(std::move(failure));
    } catch (std::exception const& error) {
        what = error.what();
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory, see above
    }
    store_log_.thread_failed(what);
} catch (...) { // NOLINT(bugprone-empty-catch): a log that fails must not cost a lease
}

void Core::abandon() noexcept
{
    auto const self = shared_from_this();
    if (abandoned_.exchange(true))
        return;
    try {
        closed_ = true;
        until_closed_.reset();
        closing_timer_.cancel();
        queues_.close();
        places_.close();
        auto const acquisitions = std::exchange(acquisitions_, {});
        for (auto const& acquisition : acquisitions)
            acquisition->abandon();
        releases_->close();
        keeper_->close();
        lines_.close();
        store_log_.close();
        backend_->shutdown();
        // drops them without calling their handlers
        close_calls_.clear();
        for (auto const& follower : std::exchange(followers_, {}))
            follower->abandon();
    } catch (...) { // NOLINT(bugprone-empty-catch): the context is being destroyed, and no handler is left
    }
}

} // namespace tenure::engine
