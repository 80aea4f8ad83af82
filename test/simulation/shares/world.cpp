// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The events of a world of fair locks, read-write locks and semaphores.
#include "world.hpp"

#include <tenure/errc.hpp>
#include <tenure/lock.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/semaphore.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <utility>

namespace tenure::simulation
{

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr unsigned processes = 3;
constexpr unsigned workers_of_process = 3;

} // namespace

ShareWorld::ShareWorld(std::uint64_t seed)
    : LinkedWorld(seed, 91)
    , store_(make_shared_store(time_, book_))
    , ttl_(random_.below(2) == 0 ? 1000ms : 3000ms)
    // a long pause, with which only the rule of places keeps them
    , longest_pause_(random_.below(2) == 0 ? 1000ms : 30000ms)
    , processes_(processes)
{
    book_.on_violation = [this](char const* rule) { expect(false, rule); };
    book_.on_lapse = [this](PlaceBook::Place const& place) { look_at_lapse(place); };
    book_.on_give_back = [this](std::string const& owner) { look_at_given_back(owner); };
    for (unsigned process = 0; process < processes; ++process) {
        start(processes_[process]);
        for (unsigned number = 0; number < workers_of_process; ++number)
            workers_.push_back({process, nullptr, Lease()});
    }
}

void ShareWorld::start(Process& process)
{
    auto const seed = seed_ * 1000 + ++count_;
    process.name = "process-" + std::to_string(count_);
    process.runtime = std::make_shared<PausedRuntime>(time_, seed);
    process.link = store_->link(seed);
    process.link->set_longest_delay(10ms);
    process.store.emplace(
        process.runtime, process.link->backend(process.runtime), StoreOptions{.worker_name = process.name});
    // a roll-out of another capacity
    process.permits = 2 + random_.below(3);
    process.born = time_.now();
}

void ShareWorld::operate()
{
    auto const kind = random_.below(100);
    auto& worker = any_worker();
    if (kind < 35)
        ask(worker);
    else if (kind < 40 && worker.attempt && !worker.attempt->done && !process_of(worker).runtime->paused()) {
        trace(100);
        worker.attempt->cancelled = true;
        worker.attempt->cancel.emit(asio::cancellation_type::total);
    } else if (kind < 65)
        give_up(worker);
    else if (kind < 69)
        disturb();
    else
        pass(any_time(kind < 96 ? 60 : 900));
    look_now_or_later();
}

void ShareWorld::ask(Worker& worker)
{
    auto& process = process_of(worker);
    if (worker.attempt || process.runtime->paused())
        return;
    auto const attempt = std::make_shared<Attempt>();
    worker.attempt = attempt;
    auto const key = random_.below(keys.size());
    attempt->key = keys.at(key);
    AcquireOptions options;
    auto const kind = random_.below(10);
    options.wait = kind < 2 ? 0ms : kind < 5 ? any_time(300) + 1ms : kind < 8 ? any_time(3000) + 1ms : forever;
    if (random_.below(10) == 0)
        options.ttl = ttl_ / 2;
    trace(1);
    auto completion =
        asio::bind_cancellation_slot(attempt->cancel.slot(), [this, &worker, attempt](error_code error, Lease lease) {
            acquired(worker, attempt, error, std::move(lease));
        });
    LeaseOptions const held{.max_poll_interval = longest_pause_};
    if (key == 0) {
        attempt->share = Share();
        Lock(*process.store, {.key = attempt->key, .ttl = ttl_, .lease = held, .fair = true})
            .async_acquire(options, std::move(completion));
    } else if (key == 1) {
        ReadWriteLock const both(*process.store, {.key = attempt->key, .ttl = ttl_, .lease = held});
        bool const writes = random_.below(3) == 0;
        attempt->share = {.weight = writes ? Share::all : 1, .capacity = Share::all};
        (writes ? both.write_lock() : both.read_lock()).async_acquire(options, std::move(completion));
    } else {
        options.permits = 1 + random_.below(process.permits);
        attempt->share = {.weight = options.permits, .capacity = process.permits};
        Semaphore(*process.store, {.key = attempt->key, .permits = process.permits, .ttl = ttl_, .lease = held})
            .async_acquire(options, std::move(completion));
    }
}

void ShareWorld::acquired(Worker& worker, std::shared_ptr<Attempt> const& attempt, error_code error, Lease lease)
{
    if (attempt->forgotten)
        return;
    expect(!std::exchange(attempt->done, true), "S14: the handler of an acquisition was called twice");
    trace(2 + static_cast<std::uint64_t>(error.value()));
    expect(
        error != asio::error::operation_aborted || attempt->cancelled,
        "S9: an acquisition ended as cancelled, and was not");
    if (error) {
        ++outcome_.counts["refusals"];
        over(worker);
        return;
    }
    ++outcome_.counts["grants"];
    look_at_new(*attempt, lease);
    worker.lease = std::move(lease);
}

void ShareWorld::over(Worker& worker)
{
    ended_.push_back({process_of(worker).name, worker.attempt->key, time_.now()});
    worker.attempt.reset();
}

void ShareWorld::give_up(Worker& worker)
{
    // a grant at this instant counts for the library already
    time_.run_ready();
    if (worker.lease.empty() || process_of(worker).runtime->paused())
        return;
    trace(101);
    auto lease = std::move(worker.lease);
    over(worker);
    if (random_.below(2) == 0)
        lease.async_release([](error_code, ReleaseOutcome) {});
}

void ShareWorld::disturb()
{
    trace(102);
    ++outcome_.counts["faults"];
    auto& process = processes_[random_.below(processes)];
    auto const kind = random_.below(12);
    if (kind == 0) {
        process.link->set_reachable(false);
    } else if (kind == 1) {
        process.link->set_loses(random_.below(2) == 0, random_.below(2) == 0);
    } else if (kind == 2) {
        process.link->set_loses_news(true);
    } else if (kind == 3) {
        crash(process);
    } else if (kind == 4) {
        slow_ = !slow_;
        slow_until_ = time_.now();
        for (auto const& each : processes_)
            each.link->set_longest_delay(slow_ ? 400ms : 10ms);
    } else if (kind < 8) {
        process.runtime->stand_still();
    } else {
        for (auto& each : processes_) {
            each.link->set_reachable(true);
            each.link->set_loses(false, false);
            each.link->set_loses_news(false);
            if (each.runtime->paused()) {
                each.runtime->go_on();
                each.stood_still = time_.now();
            }
        }
    }
}

void ShareWorld::crash(Process& process)
{
    process.link->die();
    process.runtime->go_on();
    for (auto& worker : workers_) {
        if (&process_of(worker) != &process || !worker.attempt)
            continue;
        worker.attempt->forgotten = true;
        worker.attempt->cancel.emit(asio::cancellation_type::terminal);
        worker.lease = Lease();
        worker.attempt.reset();
    }
    start(process);
}

/** Without faults every waiter is granted, and nothing is left behind; after faults it may stay for a ttl. */
void ShareWorld::finish()
{
    std::vector<std::string> calm;
    for (auto const& process : processes_)
        if (undisturbed(process, ttl_ + 1300ms))
            calm.push_back(process.name);
    slow_ = false;
    for (auto& process : processes_) {
        process.link->set_reachable(true);
        process.link->set_loses(false, false);
        process.link->set_loses_news(false);
        process.link->set_longest_delay(5ms);
        process.runtime->go_on();
        process.stood_still = slow_until_ = time_.now();
    }
    auto const waits = [](Worker const& worker) { return worker.attempt && !worker.attempt->done; };
    bool const all_granted = let_all_be_granted(workers_, waits, [this](Worker& worker) { give_up(worker); });
    expect(all_granted, "L6: a waiter is not granted");
    pass(1300ms);
    for (auto const* const key : keys)
        for (auto const& place : book_.line(key))
            expect(std::ranges::find(calm, place.process) == calm.end(), "S23: a place is left behind");
    // the book finds a lapse only when it is read
    for (auto left = ttl_; left > 0ms; left -= 250ms) {
        pass(250ms);
        for (auto const* const key : keys)
            (void)book_.line(key);
    }
    for (auto const* const key : keys)
        expect(book_.line(key).empty(), "S23: a place has outlived its ttl");
    processes_.clear();
    pass(5s);
    expect(time_.state()->timers.empty(), "S14: timers are left after the last store is gone");
    workers_.clear();
}

SmallOutcome run_share_world(std::uint64_t seed)
{
    auto outcome = ShareWorld(seed).run();
    if (seed % 8 == 1 && outcome.violation.empty()) {
        auto fair = run_fair_world(seed);
        outcome.violation = fair.violation;
        outcome.counts.insert(fair.counts.begin(), fair.counts.end());
        outcome.trace = outcome.trace * 0x100000001b3U ^ fair.trace;
    }
    return outcome;
}

} // namespace tenure::simulation
