// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ViewReader: reads of the keys, and waits for a change.
#include "view_reader.hpp"

#include <tenure/detail/on_cancel.hpp>
#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace tenure::locks
{

namespace
{

using std::chrono::milliseconds;

constexpr milliseconds shortest_refresh{100};
constexpr milliseconds longest_refresh{std::chrono::hours{1}};
/// minimum time between two reads
constexpr milliseconds shortest_pause{50};
/// as for `Store::async_inspect`: a read that no lease depends on is given up after this time
constexpr std::chrono::seconds answer_limit{5};

} // namespace

ViewReader::ViewReader(
    std::shared_ptr<Runtime> runtime, KeyRangePtr range, milliseconds refresh, ViewCache::Same same, bool names_only)
    : runtime_(std::move(runtime))
    , range_(std::move(range))
    , refresh_(refresh)
    , names_only_(names_only)
    , cache_(refresh, same)
{
}

// -- any thread --

ViewSnapshot ViewReader::snapshot()
{
    // a thread that does not exist in a child of fork may own the mutex
    if (forked())
        return {};
    std::unique_lock lock(mutex_);
    auto const now = runtime_->now();
    bool const late = cache_.pass(now); // the timer may be late
    auto result = cache_.snapshot(now);
    if (late)
        notify_all(lock, now);
    return result;
}

void ViewReader::wait(std::uint64_t seen, asio::cancellation_slot slot, Notify notify, std::shared_ptr<ViewHandle> view)
{
    if (forked()) {
        notify(engine::Known::at_once, make_error_code(errc::forked), {});
        return;
    }
    std::unique_lock lock(mutex_);
    if (ended_) {
        auto const error = *ended_;
        lock.unlock();
        notify(engine::Known::at_once, error, {});
        return;
    }
    if (cache_.version() != seen) {
        auto snapshot = cache_.snapshot(runtime_->now());
        lock.unlock();
        notify(engine::Known::at_once, {}, std::move(snapshot));
        return;
    }
    auto const id = ++last_id_;
    waiting_.push_back({id, std::move(notify), std::move(view)});
    // Assigned under the mutex: after the unlock the handler may run, and its cancellation slot may get another use.
    detail::on_cancel(slot, detail::every_cancellation, [weak = weak_from_this(), id](asio::cancellation_type) {
        if (auto const self = weak.lock())
            self->cancel(id);
    });
}

void ViewReader::cancel(Id id)
{
    if (forked())
        return;
    std::optional<Waiter> waiter;
    {
        std::lock_guard const lock(mutex_);
        auto const found = std::ranges::find(waiting_, id, &Waiter::id);
        if (found == waiting_.end())
            return;
        waiter.emplace(std::move(*found));
        waiting_.erase(found);
    }
    waiter->notify(engine::Known::later, asio::error::operation_aborted, {});
}

void ViewReader::notify_all(std::unique_lock<std::mutex>& lock, Instant now)
{
    auto waiting = std::exchange(waiting_, {});
    auto const snapshot = waiting.empty() ? ViewSnapshot() : cache_.snapshot(now);
    lock.unlock();
    for (auto& waiter : waiting)
        waiter.notify(engine::Known::later, {}, ViewSnapshot(snapshot));
}

// -- on the strand --

void ViewReader::begin(std::shared_ptr<engine::Core> core)
{
    if (over())
        return;
    if (!core->add(shared_from_this())) {
        end(make_error_code(errc::closed));
        return;
    }
    core_ = std::move(core);
    watch_ = core_->backend().watch(range_, WatchAs::observer, [weak = weak_from_this()](WatchEvent event) {
        if (auto const self = weak.lock())
            self->on_event(event);
    });
    read();
    arm();
}

void ViewReader::on_event(WatchEvent event)
{
    switch (event) {
    case WatchEvent::in_force: // earlier events were missed
    case WatchEvent::hint:
    case WatchEvent::our_turn:
    case WatchEvent::others_turn:
        read_soon();
        break;
    case WatchEvent::interrupted:
    case WatchEvent::unavailable:
        break;
    }
}

void ViewReader::reachable()
{
    // a pending read may have made the store reachable
    if (!reading_)
        read_soon();
}

void ViewReader::read_soon()
{
    if (core_ == nullptr || std::exchange(news_, true))
        return;
    arm();
}

void ViewReader::read()
{
    reading_ = true;
    news_ = false;
    asked_ = runtime_->now();
    auto const not_after =
        Deadline(asked_ + answer_limit, Deadline::Mark(shared_from_this(), &mark_)).with_one_attempt();
    core_->backend().inspect(
        {range_, not_after, names_only_}, [weak = weak_from_this(), asked = asked_](InspectReply&& reply) {
            if (auto const self = weak.lock(); self && self->core_)
                self->answered(std::move(reply), asked);
        });
}

void ViewReader::answered(InspectReply reply, Instant asked)
{
    reading_ = false;
    auto const now = runtime_->now();
    core_->counters().requests.ended(RequestKind::inspect, reply, now - asked);
    if (auto* const keys = std::get_if<std::vector<KeyState>>(&reply)) {
        // pauses as long as the last read took, to relieve the store
        rests_until_ = now + (now - asked);
        std::unique_lock lock(mutex_);
        if (cache_.answered(std::move(*keys), asked, now))
            notify_all(lock, now);
    } else {
        rests_until_ = now;
        failed(std::get<Failure>(reply));
    }
    arm();
}

void ViewReader::failed(Failure const& failure)
{
    auto& store_log = core_->store_log();
    store_log.record_error(failure);
    // The connection logs an unavailable store. A refusal may concern only views.
    if (failure.effect == Failure::Effect::refused)
        store_log.view_refused(range_->describe(), failure);
}

Instant ViewReader::next_read(Instant expiry) const noexcept
{
    Instant due = asked_ + refresh_;
    // one read per expiry of a key: its answer contains the next expiry
    if (expiry > asked_)
        due = std::min(due, expiry);
    if (news_)
        due = asked_;
    return std::max<Instant>({due, asked_ + shortest_pause, rests_until_});
}

void ViewReader::arm()
{
    timer_.cancel();
    if (core_ == nullptr)
        return;
    std::unique_lock lock(mutex_);
    auto when = cache_.stale_at();
    auto const expiry = cache_.expiry();
    lock.unlock();
    if (!reading_)
        when = std::min(when, next_read(expiry));
    if (when == Instant::max())
        return;
    timer_.at(when, weak_from_this(), &ViewReader::wake);
}

void ViewReader::wake()
{
    if (core_ == nullptr)
        return;
    auto const now = runtime_->now();
    std::unique_lock lock(mutex_);
    auto const expiry = cache_.expiry();
    if (cache_.pass(now))
        notify_all(lock, now);
    else
        lock.unlock();
    // a wait that ended may have been the last user of the view
    if (core_ == nullptr)
        return;
    if (!reading_ && now >= next_read(expiry))
        read();
    arm();
}

void ViewReader::stop_reading() noexcept
{
    mark_.ended.store(true, std::memory_order_release);
    watch_.reset();
    timer_.cancel();
}

void ViewReader::end(error_code error)
{
    stop_reading();
    if (auto const core = std::exchange(core_, nullptr)) {
        core->remove(*this);
        if (reading_)
            core->drop_abandoned();
    }
    std::unique_lock lock(mutex_);
    ended_ = ended_.value_or(error);
    auto waiting = std::exchange(waiting_, {});
    lock.unlock();
    for (auto& waiter : waiting)
        waiter.notify(engine::Known::later, error, {});
}

void ViewReader::store_closes()
{
    end(make_error_code(errc::closed));
}

void ViewReader::abandon() noexcept
{
    stop_reading();
    core_.reset();
    std::unique_lock lock(mutex_);
    ended_ = make_error_code(errc::closed);
    // destroys the waiting handlers, and all objects that they own, without calling them
    auto const waiting = std::exchange(waiting_, {});
    lock.unlock();
}

// -- the copies of a view --

ViewHandle::ViewHandle(
    std::shared_ptr<engine::Handle> store, KeyRangePtr range, char const* where, milliseconds refresh,
    ViewCache::Same same, bool names_only)
    : store_(std::move(store))
{
    if (refresh < shortest_refresh || refresh > longest_refresh)
        throw std::invalid_argument(
            std::string(where) + "::refresh is " + std::to_string(refresh.count()) + " ms: must be from " +
            std::to_string(shortest_refresh.count()) + " ms to " + std::to_string(longest_refresh.count()) + " ms");
    auto const& core = store_->core();
    reader_ = std::make_shared<ViewReader>(core->runtime(), std::move(range), refresh, same, names_only);
    if (core->same_process())
        core->runtime()->strand().execute([reader = reader_, core] { reader->begin(core); });
    else
        reader_->end(make_error_code(errc::forked));
}

ViewHandle::~ViewHandle()
{
    auto const& core = *store_->core();
    if (reader_->forked() || reader_->over() || core.abandoned())
        return;
    try {
        core.runtime()->strand().execute([reader = reader_] { reader->end(asio::error::operation_aborted); });
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: it reads on until the store closes
    }
}

} // namespace tenure::locks
