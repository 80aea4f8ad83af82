// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One member of a shard group: does what its ShardMachine says.
#include "group_state.hpp"
#include "held_set.hpp"
#include "view_reader.hpp"

#include "engine/completion.hpp"
#include "engine/machines/shard_machine.hpp"
#include "runtime/alarm.hpp"
#include "runtime/failure_code.hpp"

#include <tenure/detail/on_cancel.hpp>
#include <tenure/error.hpp>
#include <tenure/with_lease.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace tenure::locks
{

/** A shard that is held, and its work. Shared by the run and the work. */
struct HeldShard {
    HeldShard(Slot slot, asio::any_io_executor const& executor)
        : token(HeldSet::second_token(slot.token()))
        , shard(std::move(slot), HeldSet::token_of(token))
        , strand(asio::make_strand(executor))
    {
    }
    [[nodiscard]] Slot& slot() noexcept { return shard.slot_; }

    /// cancelled with the work, or with the lease
    std::shared_ptr<JoinedToken> token;
    Shard shard;
    /// of the work
    asio::strand<asio::any_io_executor> strand;
    /// on that strand; without a handler after the end of the work
    asio::cancellation_signal cancel;
    /// on the strand of the run
    bool lost = false;
};

/** A shard as `async_with_lease` holds it: the end of its work does not release it. */
struct ShardLease {
    std::shared_ptr<HeldShard> held;

    [[nodiscard]] bool empty() const noexcept { return held == nullptr; }
    [[nodiscard]] bool valid() const noexcept { return held->slot().valid(); }
    [[nodiscard]] Instant valid_until() const noexcept { return held->slot().valid_until(); }
    [[nodiscard]] CancellationToken token() const noexcept { return held->slot().token(); }
    [[nodiscard]] asio::any_io_executor get_executor() const noexcept { return held->strand; }
    [[nodiscard]] std::string const& key() const noexcept { return held->slot().key(); }
    template <class Handler>
    void async_release(Handler handler)
    {
        asio::post(asio::append(std::move(handler), error_code(), ReleaseOutcome::still_held));
    }
};

} // namespace tenure::locks

/** Its tasks ignore their cancellation. */
template <>
struct tenure::detail::LeaveKey<tenure::locks::ShardLease> {
    static void of(tenure::locks::ShardLease& lease) noexcept { LeaveKey<Slot>::of(lease.held->slot()); }
};

namespace tenure::locks
{

namespace
{

using std::chrono::milliseconds;

engine::ShardTerms terms_of(ShardGroupConfig const& config)
{
    auto const refresh = std::clamp<milliseconds>(config.ttl / 5, milliseconds{100}, std::chrono::hours{1});
    return {config.shards, config.ttl, refresh, 2 * refresh, config.rebalance_pause, config.drain};
}

bool same_member(KeyState const& left, KeyState const& right)
{
    return (left.kind == KeyState::Kind::free) == (right.kind == KeyState::Kind::free);
}

/** One member, from its begin to its end. Everything but `start` runs on its strand. */
class ShardRun : public std::enable_shared_from_this<ShardRun>
{
public:
    using Handler = engine::Completion<void(std::exception_ptr)>;

    ShardRun(
        std::shared_ptr<GroupState> group, asio::any_io_executor const& executor, detail::ShardWork work,
        Handler handler)
        : group_(std::move(group))
        , runtime_(group_->members.handle()->core()->runtime())
        , executor_(executor)
        , strand_(asio::make_strand(executor))
        , work_(std::move(work))
        , handler_(std::move(handler))
        , machine_(terms_of(group_->config))
        , alarm_(runtime_)
    {
    }

    /** Call it on the thread of the initiating call. */
    static void start(std::shared_ptr<ShardRun> const& self)
    {
        auto cancel = [weak = std::weak_ptr(self)](asio::cancellation_type type) {
            if (auto const alive = weak.lock())
                asio::dispatch(alive->strand_, [alive, type] {
                    bool const at_once = detail::ends_by(type, detail::partial_cancellation);
                    alive->end(detail::exception_of(asio::error::operation_aborted), at_once);
                });
        };
        detail::on_cancel(self->handler_->slot(), detail::every_cancellation, std::move(cancel));
        self->runtime_->post([self] {
            // members do not all read at the same time
            auto const refresh = std::chrono::floor<milliseconds>(terms_of(self->group_->config).refresh);
            auto const earlier = refresh * static_cast<milliseconds::rep>(self->runtime_->random() % 1024) / 5 / 1024;
            asio::post(self->strand_, [self, time = std::max(milliseconds{100}, refresh - earlier)] {
                // it was cancelled before it began
                if (!self->handler_)
                    return;
                self->view_ = std::make_shared<ViewHandle>(
                    self->group_->members.handle(), self->group_->members.range(), "ShardGroup", time, &same_member,
                    true);
                self->follow();
                self->perform(self->machine_.tick(self->now()));
            });
        });
    }

private:
    using Machine = engine::ShardMachine;
    using HeldPtr = std::shared_ptr<HeldShard>;
    /** A pending acquisition. */
    struct Claim {
        SlotPool const* pool = nullptr;
        asio::cancellation_signal cancel;
        bool cancelled = false;
    };

    [[nodiscard]] Instant now() const noexcept { return runtime_->now(); }

    /** A handler that calls `function(self, results...)` on the strand. */
    template <class Function>
    [[nodiscard]] auto on_strand(Function function)
    {
        return asio::bind_executor(
            strand_, [self = shared_from_this(), function = std::move(function)](auto&&... results) mutable {
                std::invoke(function, *self, std::forward<decltype(results)>(results)...);
            });
    }

    // -- what the machine says --

    void perform(Machine::Actions const& actions)
    {
        for (auto const& action : actions)
            perform(action);
        {
            std::lock_guard const lock(group_->mutex);
            group_->owned = machine_.owned();
            group_->live = machine_.over() ? std::vector<Machine::Number>() : machine_.live();
        }
        auto const wakes = machine_.wake_at();
        if (wakes == Instant::max())
            alarm_.cancel();
        else if (wakes != alarm_.due())
            alarm_.at(wakes, weak_from_this(), strand_, &ShardRun::tick);
        complete_if_over();
    }

    void perform(Machine::Action action)
    {
        using Kind = Machine::Action::Kind;
        auto const found = held_.find(action.shard);
        auto const held = found == held_.end() ? nullptr : found->second;
        switch (action.kind) {
        case Kind::join:
            for (std::uint32_t number = 0; number < group_->config.weight; ++number)
                claim(group_->members);
            break;
        case Kind::quit:
            tell(ShardEvent::Kind::left);
            cancel(group_->members, group_->config.weight);
            release_numbers();
            break;
        case Kind::claim:
            claim(group_->shards);
            break;
        case Kind::cancel:
            cancel(group_->shards, 1);
            break;
        case Kind::give_back:
            release(*granted_);
            break;
        case Kind::begin:
            begin(action.shard);
            break;
        case Kind::stop:
            held->token->cancel(CancelReason::rebalanced);
            emit(held, asio::cancellation_type::total);
            tell(ShardEvent::Kind::giving_up, action.shard);
            break;
        case Kind::terminate:
            emit(held, asio::cancellation_type::terminal);
            tell(ShardEvent::Kind::terminated, action.shard);
            break;
        case Kind::abandon:
            abandon(*held, action.shard);
            break;
        case Kind::release:
            release(held->slot());
            held_.erase(found);
            if (!held->lost)
                tell(ShardEvent::Kind::released, action.shard);
            break;
        }
    }

    void abandon(HeldShard& held, Machine::Number shard)
    {
        detail::LeaveKey<Slot>::of(held.slot());
        tell(ShardEvent::Kind::abandoned, shard);
        runtime_->post([runtime = runtime_, key = held.slot().key()] {
            runtime->log(
                LogLevel::error, "the work of " + key +
                                     " ignores its cancellation: the shard is not renewed, and "
                                     "its key expires after its ttl");
        });
    }

    void tick() { perform(machine_.tick(now())); }

    void claim(SlotPool const& pool)
    {
        auto const claim = std::make_shared<Claim>();
        claim->pool = &pool;
        claims_.push_back(claim);
        auto ended = on_strand([claim](ShardRun& self, error_code error, Slot slot) {
            std::erase(self.claims_, claim);
            self.claimed(*claim, error, std::move(slot));
        });
        pool.async_acquire(
            AcquireOptions{.wait = forever}, asio::bind_cancellation_slot(claim->cancel.slot(), std::move(ended)));
    }

    void cancel(SlotPool const& pool, std::size_t count)
    {
        // their ends change the list later
        for (auto const& claim : claims_ | std::views::reverse)
            if (count > 0 && claim->pool == &pool && !std::exchange(claim->cancelled, true)) {
                --count;
                claim->cancel.emit(asio::cancellation_type::terminal);
            }
    }

    void claimed(Claim const& claim, error_code error, Slot slot)
    {
        bool const of_member = claim.pool == &group_->members;
        if (error && claim.cancelled) {
            complete_if_over();
        } else if (error && (of_member || error == errc::closed || error == errc::forked)) {
            end(detail::exception_of(error), false);
        } else if (error) {
            perform(machine_.claim_failed(now()));
        } else if (!of_member) {
            granted_ = std::move(slot);
            perform(machine_.granted(granted_->id(), claim.cancelled, now()));
        } else if (claim.cancelled) {
            release(slot);
        } else {
            number_granted(std::move(slot));
        }
    }

    void release(Slot& slot)
    {
        ++releases_;
        slot.async_release(on_strand([](ShardRun& self, error_code, ReleaseOutcome) {
            --self.releases_;
            self.complete_if_over();
        }));
    }

    // -- the member --

    void number_granted(Slot slot)
    {
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
        perform(machine_.joined(std::move(numbers), now()));
    }

    void membership_lost()
    {
        tell(ShardEvent::Kind::membership_lost);
        release_numbers();
        perform(machine_.membership_lost(now()));
    }

    void release_numbers()
    {
        for (auto& slot : std::exchange(numbers_, {}))
            release(slot);
    }

    /** Waits for another set of members. */
    void follow()
    {
        view_->reader().wait(
            seen_, {},
            [viewed = on_strand(&ShardRun::viewed)](engine::Known, error_code error, ViewSnapshot&& view) mutable {
                asio::post(asio::append(std::move(viewed), error, std::move(view)));
            },
            nullptr); // the end of the view ends the wait
    }

    void viewed(error_code error, ViewSnapshot const& view)
    {
        if (!view_)
            return;
        if (error) {
            end(detail::exception_of(error), false);
            return;
        }
        seen_ = view.version;
        follow();
        std::vector<Machine::Number> live;
        for (auto const& key : view.keys)
            if (key.kind != KeyState::Kind::free)
                live.push_back(key.index);
        perform(view.stale ? machine_.view_stale(now()) : machine_.viewed(live, now()));
    }

    // -- shards --

    void begin(Machine::Number number)
    {
        auto const held = std::make_shared<HeldShard>(std::move(*granted_), executor_);
        held_[number] = held;
        tell(ShardEvent::Kind::acquired, number);
        auto const token = held->slot().token();
        token.async_wait(on_strand([held, token](ShardRun& self, error_code) {
            if (is_loss(token.reason()))
                self.lost(held);
        }));
        auto ended = [ended = on_strand(&ShardRun::work_ended), held](std::exception_ptr failure) mutable {
            asio::post(asio::append(std::move(ended), held, std::move(failure)));
        };
        auto work = [work = work_](ShardLease& lease, TaskGroup& tasks) { return work(lease.held->shard, tasks); };
        asio::post(held->strand, [held, work = std::move(work), ended = std::move(ended)]() mutable {
            async_with_lease(
                ShardLease{held}, std::move(work), asio::bind_cancellation_slot(held->cancel.slot(), std::move(ended)));
        });
    }

    static void emit(HeldPtr const& held, asio::cancellation_type type)
    {
        asio::post(held->strand, [held, type] { held->cancel.emit(type); });
    }

    void lost(HeldPtr const& held)
    {
        if (std::exchange(held->lost, true))
            return;
        tell(ShardEvent::Kind::lost, held->shard.number());
        perform(machine_.lost(held->shard.number(), now()));
    }

    void work_ended(HeldPtr const& held, std::exception_ptr const& failure)
    {
        // also where its key was left to expire, because its tasks go on
        bool const over = held->slot().token().cancelled();
        if (over)
            lost(held);
        auto const code = code_of(failure);
        bool const of_loss = over && code == errc::lease_lost;
        bool const of_cancellation = held->token->cancelled() && code == asio::error::operation_aborted;
        if (failure && !of_loss && !of_cancellation)
            end(failure, false);
        auto const number = held->shard.number();
        perform(machine_.work_ended(number, now()));
        if (held_.contains(number))
            tell(ShardEvent::Kind::finished, number);
    }

    // -- the end --

    /** Leaves the group; the run has this result, unless it has one. */
    void end(std::exception_ptr failure, bool at_once)
    {
        if (!failure_)
            failure_ = std::move(failure);
        perform(machine_.leave(at_once, now()));
    }

    void complete_if_over()
    {
        if (!machine_.over() || !handler_ || releases_ > 0 || !claims_.empty())
            return;
        alarm_.cancel();
        view_.reset();
        group_->runs = false;
        std::move(*std::exchange(handler_, std::nullopt)).post(failure_);
    }

    void tell(ShardEvent::Kind kind, std::optional<Machine::Number> shard = std::nullopt)
    {
        if (auto const& hook = group_->config.on_event)
            hook({kind, shard});
    }

    std::shared_ptr<GroupState> group_;
    std::shared_ptr<Runtime> runtime_;
    /// of the user's handler
    asio::any_io_executor executor_;
    asio::strand<asio::any_io_executor> strand_;
    detail::ShardWork work_;
    /// until it is called
    std::optional<Handler> handler_;
    Machine machine_;
    Alarm alarm_;
    std::shared_ptr<ViewHandle> view_;
    std::uint64_t seen_ = 0;
    /// of both pools, in the order of their beginnings
    std::vector<std::shared_ptr<Claim>> claims_;
    /// of this member, which may not have all of them yet
    std::vector<Slot> numbers_;
    /// the result of the last claim
    std::optional<Slot> granted_;
    std::map<Machine::Number, HeldPtr> held_;
    /// unanswered releases
    std::size_t releases_ = 0;
    std::exception_ptr failure_;
};

} // namespace

} // namespace tenure::locks

void tenure::detail::ShardRuns::start(
    ShardGroup const& group, asio::any_io_executor const& executor, ShardWork work,
    asio::any_completion_handler<void(std::exception_ptr)> handler)
{
    using locks::ShardRun;
    auto const& state = group.state_;
    ShardRun::Handler completion(std::move(handler), state->members.handle()->core()->runtime().get());
    if (state->runs.exchange(true))
        std::move(completion).complete_at_once(exception_of(asio::error::already_started));
    else
        ShardRun::start(std::make_shared<ShardRun>(state, executor, std::move(work), std::move(completion)));
}
