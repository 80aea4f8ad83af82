// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ShardRun: does what the machine of a member says.
#include "shard_run.hpp"

#include "engine/core.hpp"

#include <tenure/detail/on_cancel.hpp>
#include <tenure/error.hpp>
#include <tenure/with_lease.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tenure
{

namespace locks
{

/** A shard as `async_with_lease` holds it: the end of its work does not release it. */
struct ShardLease {
    std::shared_ptr<HeldShard> held;

    [[nodiscard]] bool empty() const noexcept { return held == nullptr; }
    [[nodiscard]] bool valid() const noexcept { return held->slot().valid(); }
    [[nodiscard]] Instant valid_until() const noexcept { return held->slot().valid_until(); }
    [[nodiscard]] CancellationToken token() const noexcept { return held->slot().token(); }
    [[nodiscard]] asio::any_io_executor get_executor() const noexcept { return held->slot().get_executor(); }
    [[nodiscard]] std::string const& key() const noexcept { return held->slot().key(); }

    template <class CompletionToken>
    auto async_release(CompletionToken&& completion)
    {
        auto const initiate = [executor = get_executor()](auto handler) {
            auto const completes_on = asio::get_associated_executor(handler, executor);
            asio::post(completes_on, [handler = std::move(handler)]() mutable {
                std::move(handler)(error_code(), ReleaseOutcome::still_held);
            });
        };
        return asio::async_initiate<CompletionToken, void(error_code, ReleaseOutcome)>(initiate, completion);
    }
};

} // namespace locks

/** Its tasks ignore their cancellation. */
template <>
struct detail::LeaveKey<locks::ShardLease> {
    static void of(locks::ShardLease& lease) noexcept { LeaveKey<Slot>::of(lease.held->slot()); }
};

namespace locks
{

namespace
{

using std::chrono::milliseconds;

milliseconds refresh_of(milliseconds ttl)
{
    return std::clamp<milliseconds>(ttl / 5, milliseconds{100}, std::chrono::hours{1});
}

engine::ShardTerms terms_of(ShardGroupConfig const& config)
{
    auto const refresh = refresh_of(config.ttl);
    return {config.shards, config.ttl, refresh, 2 * refresh, config.rebalance_pause, config.drain};
}

bool is_free(KeyState const& key)
{
    return key.kind == KeyState::Kind::free;
}

bool same_member(KeyState const& left, KeyState const& right)
{
    return is_free(left) == is_free(right);
}

/** True if the failure has this code. */
template <class Code>
bool failed_with(std::exception_ptr const& failure, Code code)
{
    try {
        std::rethrow_exception(failure);
    } catch (boost::system::system_error const& thrown) {
        return thrown.code() == code;
    } catch (...) {
        return false;
    }
}

} // namespace

HeldShard::HeldShard(Slot slot, asio::any_io_executor const& executor)
    : token(HeldSet::second_token(slot.token()))
    , shard(std::move(slot), HeldSet::token_of(token))
    , strand(asio::make_strand(executor))
{
}

ShardRun::ShardRun(
    std::shared_ptr<GroupState> group, asio::any_io_executor const& executor, detail::ShardWork work, Handler handler)
    : group_(std::move(group))
    , runtime_(group_->store->core()->runtime())
    , executor_(executor)
    , strand_(asio::make_strand(executor))
    , work_(std::move(work))
    , handler_(std::move(handler))
    , machine_(terms_of(group_->config))
    , alarm_(runtime_)
{
}

template <class Function>
auto ShardRun::on_strand(Function function)
{
    return asio::bind_executor(
        strand_, [self = shared_from_this(), function = std::move(function)](auto&&... results) mutable {
            function(*self, std::forward<decltype(results)>(results)...);
        });
}

void ShardRun::start(std::shared_ptr<ShardRun> const& self)
{
    detail::on_cancel(
        self->handler_->slot(), detail::every_cancellation, [weak = std::weak_ptr(self)](asio::cancellation_type type) {
            if (auto const alive = weak.lock())
                asio::dispatch(alive->strand_, [alive, type] {
                    alive->failure_ =
                        alive->failure_ ? alive->failure_ : detail::exception_of(asio::error::operation_aborted);
                    alive->leave(detail::ends_by(type, detail::partial_cancellation));
                });
        });
    self->runtime_->post([self] {
        // members do not all read at the same time
        auto const refresh = refresh_of(self->group_->config.ttl);
        auto const earlier = refresh / 5 / 1024 * static_cast<milliseconds::rep>(self->runtime_->random() % 1024);
        asio::post(self->strand_, [self, time = std::max(milliseconds{100}, refresh - earlier)] {
            self->view_ = std::make_shared<ViewHandle>(
                self->group_->store, self->group_->members.range(), "ShardGroup", time, &same_member);
            self->follow();
            self->perform(self->machine_.begin(self->runtime_->now()));
        });
    });
}

// -- what the machine says --

void ShardRun::perform(Machine::Actions const& actions)
{
    for (auto const& action : actions)
        perform(action);
    {
        std::lock_guard const lock(group_->mutex);
        group_->owned = machine_.owned();
        group_->live = machine_.live();
        group_->statistics.share = machine_.share();
    }
    auto const wakes = machine_.wake_at();
    if (wakes == Instant::max() || ended_)
        alarm_.cancel();
    else if (wakes != alarm_.due())
        alarm_.at(wakes, weak_from_this(), strand_, &ShardRun::tick);
    complete_if_over();
}

void ShardRun::perform(Machine::Action action)
{
    using Kind = Machine::Action::Kind;
    auto const found = held_.find(action.shard);
    auto const held = found == held_.end() ? nullptr : found->second;
    switch (action.kind) {
    case Kind::join:
        for (std::uint32_t number = 0; number < group_->config.weight; ++number)
            claim(group_->members, member_claims_, &ShardRun::member_acquired);
        break;
    case Kind::quit:
        tell(ShardEvent::Kind::left);
        cancel(member_claims_, member_claims_.size());
        for (auto& slot : std::exchange(numbers_, {}))
            release(slot);
        break;
    case Kind::claim:
        claim(group_->shards, shard_claims_, &ShardRun::shard_acquired);
        break;
    case Kind::cancel:
        cancel(shard_claims_, 1);
        break;
    case Kind::give_back:
        release(*granted_);
        granted_.reset();
        break;
    case Kind::begin:
        begin(action.shard);
        break;
    case Kind::stop:
        held->stopped = true;
        held->token->cancel(CancelReason::rebalanced);
        emit(held, asio::cancellation_type::total);
        tell(ShardEvent::Kind::giving_up, action.shard);
        break;
    case Kind::terminate:
        emit(held, asio::cancellation_type::terminal);
        tell(ShardEvent::Kind::terminated, action.shard);
        break;
    case Kind::abandon:
        detail::LeaveKey<Slot>::of(held->slot());
        tell(ShardEvent::Kind::abandoned, action.shard);
        log(LogLevel::error,
            "the work of " + held->slot().key() +
                " ignores its cancellation: the shard is not renewed, and its key expires after its ttl");
        break;
    case Kind::release:
        release(held->slot());
        held_.erase(found);
        tell(ShardEvent::Kind::released, action.shard);
        break;
    case Kind::end:
        ended_ = true;
        break;
    }
}

void ShardRun::tick()
{
    if (alarm_.is_due())
        perform(machine_.tick(runtime_->now()));
}

void ShardRun::claim(SlotPool const& pool, Claims& claims, Acquired acquired)
{
    auto const claim = std::make_shared<Claim>();
    claims.push_back(claim);
    pool.async_acquire(
        AcquireOptions{.wait = forever},
        asio::bind_cancellation_slot(
            claim->cancel.slot(), on_strand([claim, &claims, acquired](ShardRun& self, error_code error, Slot slot) {
                claims.remove(claim);
                if (error && claim->cancelled)
                    self.complete_if_over();
                else if (error == errc::closed || error == errc::forked)
                    self.fail(detail::exception_of(error));
                else
                    (self.*acquired)(claim->cancelled, error, std::move(slot));
            })));
}

void ShardRun::cancel(Claims& claims, std::size_t count)
{
    // an end of a claim changes the list later
    for (auto claim = claims.rbegin(); claim != claims.rend() && count > 0; ++claim)
        if (!std::exchange((*claim)->cancelled, true)) {
            --count;
            (*claim)->cancel.emit(asio::cancellation_type::terminal);
        }
}

void ShardRun::release(Slot& slot)
{
    ++releases_;
    slot.async_release(on_strand([](ShardRun& self, error_code, ReleaseOutcome) {
        --self.releases_;
        self.complete_if_over();
    }));
}

// -- the member --

void ShardRun::member_acquired(bool cancelled, error_code error, Slot slot)
{
    if (cancelled) {
        release(slot);
        return;
    }
    if (error) {
        fail(detail::exception_of(error));
        return;
    }
    numbers_.push_back(std::move(slot));
    if (numbers_.size() < group_->config.weight)
        return;
    std::vector<Machine::Number> numbers;
    for (auto const& number : numbers_) {
        numbers.push_back(number.id());
        auto const token = number.token();
        token.async_wait(on_strand([token, owner = number.owner()](ShardRun& self, error_code) {
            auto const ours = [&](Slot const& one) { return one.owner() == owner; };
            if (is_loss(token.reason()) && std::ranges::any_of(self.numbers_, ours))
                self.membership_lost();
        }));
    }
    tell(ShardEvent::Kind::joined);
    perform(machine_.joined(std::move(numbers), runtime_->now()));
}

void ShardRun::membership_lost()
{
    tell(ShardEvent::Kind::membership_lost);
    for (auto& slot : std::exchange(numbers_, {}))
        release(slot);
    perform(machine_.membership_lost(runtime_->now()));
}

void ShardRun::follow()
{
    view_->reader().wait(
        seen_, stop_following_.slot(),
        [weak = weak_from_this(), strand = strand_](engine::Known, error_code error, ViewSnapshot&& view) {
            asio::post(strand, [weak, error, view = std::move(view)] {
                if (auto const self = weak.lock(); self && self->view_)
                    self->viewed(error, view);
            });
        },
        view_);
}

void ShardRun::viewed(error_code error, ViewSnapshot const& view)
{
    if (error) {
        fail(detail::exception_of(error));
        return;
    }
    seen_ = view.version;
    follow();
    if (view.stale) {
        perform(machine_.view_stale(runtime_->now()));
        return;
    }
    std::vector<Machine::Number> live;
    for (auto const& key : view.keys)
        if (!is_free(key))
            live.push_back(key.index);
    perform(machine_.viewed(live, runtime_->now()));
}

// -- shards --

void ShardRun::shard_acquired(bool cancelled, error_code error, Slot slot)
{
    auto const now = runtime_->now();
    if (error) {
        perform(machine_.claim_failed(now));
        return;
    }
    granted_ = std::move(slot);
    perform(machine_.granted(granted_->id(), cancelled, now));
}

void ShardRun::begin(Machine::Number number)
{
    auto const held = std::make_shared<HeldShard>(std::move(*granted_), executor_);
    granted_.reset();
    held_[number] = held;
    tell(ShardEvent::Kind::acquired, number);
    auto const token = held->slot().token();
    token.async_wait(asio::bind_executor(strand_, [weak = weak_from_this(), held, token](error_code) {
        if (auto const self = weak.lock(); self && is_loss(token.reason()))
            self->lost(held);
    }));
    auto ended = [self = shared_from_this(), held](std::exception_ptr failure) {
        held->ended = true;
        asio::post(self->strand_, [self, held, failure = std::move(failure)] { self->work_ended(held, failure); });
    };
    auto work = [work = work_](ShardLease& lease, TaskGroup& tasks) { return work(lease.held->shard, tasks); };
    asio::post(held->strand, [held, work = std::move(work), ended = std::move(ended)]() mutable {
        async_with_lease(
            ShardLease{held}, std::move(work),
            asio::bind_cancellation_slot(held->cancel.slot(), asio::bind_executor(held->strand, std::move(ended))));
    });
}

void ShardRun::emit(HeldPtr const& held, asio::cancellation_type type)
{
    asio::post(held->strand, [held, type] {
        if (!held->ended)
            held->cancel.emit(type);
    });
}

void ShardRun::lost(HeldPtr const& held)
{
    if (std::exchange(held->lost, true))
        return;
    auto const number = held->shard.number();
    tell(ShardEvent::Kind::lost, number);
    if (held->finished)
        held_.erase(number);
    perform(machine_.lost(number, runtime_->now()));
}

void ShardRun::work_ended(HeldPtr const& held, std::exception_ptr const& failure)
{
    auto const number = held->shard.number();
    // also where its key was left to expire, because its tasks go on
    bool const over = held->slot().token().cancelled();
    if (over)
        lost(held);
    bool const expected =
        failure && ((over && failed_with(failure, errc::lease_lost)) ||
                    ((over || held->stopped) && failed_with(failure, asio::error::operation_aborted)));
    if (failure && !expected)
        fail(failure);
    perform(machine_.work_ended(number, runtime_->now()));
    if (over) {
        held_.erase(number);
    } else if (held_.contains(number)) {
        held->finished = true;
        tell(ShardEvent::Kind::finished, number);
    }
}

// -- the end --

void ShardRun::leave(bool at_once)
{
    perform(machine_.leave(at_once, runtime_->now()));
}

void ShardRun::fail(std::exception_ptr failure)
{
    if (!failure_)
        failure_ = std::move(failure);
    leave(false);
}

void ShardRun::complete_if_over()
{
    if (!ended_ || !handler_ || releases_ > 0 || !member_claims_.empty() || !shard_claims_.empty())
        return;
    alarm_.cancel();
    stop_following_.emit(asio::cancellation_type::terminal);
    view_.reset();
    {
        std::lock_guard const lock(group_->mutex);
        group_->live.clear();
    }
    group_->runs = false;
    std::move(*std::exchange(handler_, std::nullopt)).post(failure_);
}

void ShardRun::tell(ShardEvent::Kind kind, std::optional<Machine::Number> shard)
{
    {
        std::lock_guard const lock(group_->mutex);
        auto& count = group_->statistics;
        count.acquired += kind == ShardEvent::Kind::acquired ? 1 : 0;
        count.given_up += kind == ShardEvent::Kind::giving_up ? 1 : 0;
        count.lost += kind == ShardEvent::Kind::lost ? 1 : 0;
        count.joined += kind == ShardEvent::Kind::joined ? 1 : 0;
    }
    if (auto const& hook = group_->config.on_event)
        hook({kind, shard});
}

void ShardRun::log(LogLevel level, std::string text) const
{
    runtime_->post([runtime = runtime_, level, text = std::move(text)] { runtime->log(level, text); });
}

} // namespace locks
} // namespace tenure
