// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "worker.hpp"

#include "world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace tenure::simulation
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;

} // namespace

Worker::Worker(World& world, Process& process, std::uint32_t number, std::uint64_t seed)
    : world_(world)
    , process_(process)
    , number_(number)
    , random_(seed, 100 + process.id() * 10 + number)
    , holding_(std::make_unique<Holding>())
    , cancel_(std::make_unique<asio::cancellation_signal>())
{
}

void Worker::start()
{
    if ((world_.plan().workers >> (process_.id() * 8 + number_) & 1U) != 0)
        rest(300 * millisecond);
}

void Worker::stop()
{
    auto const before = std::exchange(phase_, Phase::stopped);
    if (before == Phase::acquiring)
        cancel_->emit(asio::cancellation_type::terminal);
    else if (before == Phase::holding && !holding_->released)
        give_up_lease();
}

void Worker::forget() noexcept
{
    phase_ = Phase::idle;
    ++turn_;
    world_.checker.forget(*holding_);
    *holding_ = Holding();
    lease_ = Lease();
    cancel_ = std::make_unique<asio::cancellation_signal>();
}

void Worker::wake_after(Ns time)
{
    process_.wake(number_, ++wake_number_, time);
}

void Worker::rest(Ns longest)
{
    if (phase_ == Phase::stopped)
        return;
    phase_ = Phase::idle;
    wake_after(random_.between(0, longest));
}

void Worker::step(std::uint32_t number)
{
    if (number != wake_number_)
        return;
    switch (phase_) {
    case Phase::idle:
        acquire();
        break;
    case Phase::acquiring:
        if (std::exchange(will_cancel_, false))
            cancel();
        break;
    case Phase::holding:
        if (!holding_->released)
            look();
        break;
    case Phase::stopped:
        break;
    }
}

void Worker::acquire()
{
    phase_ = Phase::acquiring;
    auto const turn = ++turn_;
    range_ = static_cast<RangeId>(random_.below(range_count));
    AcquireOptions options;
    bool const only_try = random_.below(10) == 0;
    patient_ = !only_try && random_.below(10) != 0;
    auto const wait = milliseconds(patient_ ? random_.between(300, 8000) : 0);
    options.wait = wait;
    if (range_ == RangeId::slots && random_.below(3) == 0)
        options.prefer = random_.below(world_.plan().settings.slots);
    asked_at_ = world_.now();
    // a try may take as long as one ttl, or two seconds
    must_end_at_ = asked_at_ + (patient_ ? wait.count() * millisecond : 2 * second);
    will_cancel_ = random_.below(4) == 0;
    world_.chronicle.write(
        Note::wants, process_.id(), static_cast<std::uint8_t>(range_), 0, wait.count(),
        static_cast<std::uint8_t>(number_));
    world_.checker.wants(process_, range_);

    auto const lock_handler = [this, turn](error_code error, Lease lease) {
        acquired(turn, error, std::move(lease), 0);
    };
    auto const slot_handler = [this, turn](error_code error, Slot slot) {
        auto const index = slot.empty() ? 0 : slot.id();
        acquired(turn, error, std::move(slot).as_lease(), index);
    };
    auto const lock_try = [lock_handler](error_code error, std::optional<Lease> lease) {
        lock_handler(error, std::move(lease).value_or(Lease()));
    };
    auto const slot_try = [slot_handler](error_code error, std::optional<Slot> tried) {
        slot_handler(error, std::move(tried).value_or(Slot()));
    };
    auto const slot = cancel_->slot();
    if (range_ == RangeId::slots && only_try)
        process_.slots().async_try_acquire(options, asio::bind_cancellation_slot(slot, slot_try));
    else if (range_ == RangeId::slots)
        process_.slots().async_acquire(options, asio::bind_cancellation_slot(slot, slot_handler));
    else if (auto& lock = range_ == RangeId::job ? process_.job() : process_.plain(); only_try)
        lock.async_try_acquire(asio::bind_cancellation_slot(slot, lock_try));
    else
        lock.async_acquire(options, asio::bind_cancellation_slot(slot, lock_handler));

    if (will_cancel_ && random_.below(8) == 0) {
        will_cancel_ = false;
        cancel();
    } else if (will_cancel_) {
        // mostly while the first answer is under way
        wake_after(random_.below(2) == 0 ? random_.between(0, 10 * millisecond) : random_.between(0, 2 * second));
    }
}

void Worker::cancel()
{
    world_.chronicle.write(
        Note::cancels, process_.id(), static_cast<std::uint8_t>(range_), 0, 0, static_cast<std::uint8_t>(number_));
    cancel_->emit(random_.below(2) == 0 ? asio::cancellation_type::terminal : asio::cancellation_type::total);
    world_.checker.must_end(process_, *this);
}

void Worker::acquired(std::uint32_t turn, error_code error, Lease lease, std::uint32_t index)
{
    if (phase_ == Phase::stopped) {
        // a lease that came all the same goes with this handler
        if (!lease.empty())
            world_.checker.handed_out(owner_id(lease.owner()));
        world_.checker.ended_waiting(process_, range_);
        return;
    }
    if (turn != turn_ || phase_ != Phase::acquiring) {
        world_.checker.violate(Rule::s14, "the handler of an acquisition was called twice");
        return;
    }
    world_.checker.ended_waiting(process_, range_);
    if (error || lease.empty()) {
        world_.chronicle.write(
            Note::failed, process_.id(), static_cast<std::uint8_t>(range_), 0, error.value(),
            static_cast<std::uint8_t>(number_));
        if (error && !lease.empty())
            world_.checker.violate(Rule::s9, "an acquisition failed and came with a lease");
        rest(3500 * millisecond);
        return;
    }
    hold(std::move(lease), index);
}

void Worker::hold(Lease lease, std::uint32_t index)
{
    phase_ = Phase::holding;
    winds_down_ = false;
    lease_ = std::move(lease);
    world_.chronicle.write(
        Note::acquired, process_.id(), key_of(range_, index), owner_id(lease_.owner()),
        static_cast<std::int64_t>(token_of(lease_)), static_cast<std::uint8_t>(number_));
    world_.checker.acquired(process_, *holding_, lease_, range_, index, turn_);
    lease_.token().async_wait([this, turn = turn_](error_code error) { token_answers(turn, error); });

    if (random_.below(40) == 0) {
        world_.chronicle.write(Note::throws, process_.id(), holding_->key, holding_->owner);
        give_up_lease();
        throw UserError();
    }
    auto const ttl = world_.plan().settings.ttl.at(static_cast<std::size_t>(range_));
    auto const kind = random_.below(8);
    auto const length = kind == 0 ? 0 : random_.between(0, kind < 5 ? ttl : 3 * ttl);
    hold_until_ = world_.now() + length;
    if (length == 0)
        give_up_lease();
    else
        wake_after(std::min(length, random_.between(0, 400 * millisecond)));
}

void Worker::look()
{
    auto const due = process_.now() >= lease_.stop_at();
    auto const cancelled = holding_->token.cancelled();
    if (due && !cancelled)
        world_.checker.violate(Rule::s2, "a token that is due says that it has not fired");
    if (cancelled && !std::exchange(winds_down_, true) && random_.below(2) == 0) {
        wake_after(random_.between(0, 100 * millisecond));
        return;
    }
    if (cancelled || world_.now() >= hold_until_) {
        give_up_lease();
        return;
    }
    if (world_.plan().settings.resizes && random_.below(6) == 0)
        resize();
    wake_after(std::min(
        std::max<Ns>(hold_until_ - world_.now(), millisecond), random_.between(20 * millisecond, 500 * millisecond)));
}

void Worker::resize()
{
    auto const ttl = milliseconds(random_.between(500, 4000));
    world_.chronicle.write(Note::resizes, process_.id(), holding_->key, holding_->owner, ttl.count());
    holding_->resized = true;
    lease_.async_renew(ttl, [](error_code) {});
}

void Worker::token_answers(std::uint32_t turn, error_code error)
{
    if (turn != turn_)
        return;
    world_.chronicle.write(
        is_loss(holding_->token.reason()) ? Note::token_fired : Note::token_ended, process_.id(), holding_->key,
        holding_->owner, static_cast<std::int64_t>(holding_->token.reason()));
    world_.checker.token_answered(process_, *holding_, error);
    // the notice is for winding down
    if (phase_ == Phase::holding && !holding_->released) {
        hold_until_ = world_.now();
        wake_after(random_.between(0, 200 * millisecond));
    } else if (holding_->released) {
        rest(2500 * millisecond);
    }
}

void Worker::give_up_lease()
{
    auto const fired_before = is_loss(holding_->token.reason());
    world_.checker.releases(process_, *holding_, fired_before);
    auto const kind = random_.below(4);
    if (kind == 3 && world_.plan().settings.detaches) {
        detach();
        return;
    }
    world_.chronicle.write(kind == 0 ? Note::destroys : Note::releases, process_.id(), holding_->key, holding_->owner);
    if (kind == 0) {
        lease_ = Lease();
    } else if (kind == 1) {
        lease_.async_release(asio::bind_cancellation_slot(cancel_->slot(), [](error_code, ReleaseOutcome) {}));
        cancel_->emit(asio::cancellation_type::terminal);
    } else {
        lease_.async_release([](error_code, ReleaseOutcome) {});
    }
    if (holding_->told)
        rest(2500 * millisecond);
    // else the token's answer lets it go on
}

void Worker::detach()
{
    auto const key = holding_->key;
    auto const count = random_.between(shortest_kept, longest_kept) / millisecond;
    world_.chronicle.write(Note::detaches, process_.id(), key, holding_->owner, count);
    auto& checker = world_.checker;
    auto const remaining = count * millisecond;
    // clocks differ by a hundredth at most
    auto const until = world_.now() + remaining - remaining / 100;
    lease_.async_detach(
        milliseconds(count), [&checker, key, until, robberies = checker.robberies(key)](error_code error) {
            if (!error)
                checker.detached(key, until, robberies);
        });
    if (holding_->told)
        rest(2500 * millisecond);
    // else the token's answer lets it go on
}

} // namespace tenure::simulation
