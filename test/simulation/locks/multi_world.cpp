// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The events of a world of MultiLocks.
#include "multi_world.hpp"

#include "worlds.hpp"

#include <tenure/multi_lock.hpp>
#include <tenure/options.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace tenure::simulation
{

namespace asio = boost::asio;

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

std::string name_of(unsigned key)
{
    return std::string(1, static_cast<char>('a' + key));
}

} // namespace

MultiWorld::MultiWorld(std::uint64_t seed)
    : LinkedWorld(seed, 78)
    , processes_(processes)
{
    for (unsigned key = 0; key < keys; ++key)
        ranges_.at(key) = named_key(name_of(key));
    for (unsigned process = 0; process < processes; ++process) {
        start(processes_[process]);
        for (unsigned number = 0; number < workers_of_process; ++number)
            workers_.push_back({process, nullptr, {}});
    }
}

void MultiWorld::start(Process& process)
{
    auto const seed = seed_ * 1000 + ++count_;
    auto const runtime = testing::make_runtime(time_, seed);
    process.link = std::make_shared<Link>(time_, domain_, seed);
    process.store.emplace(runtime, process.link->backend(runtime), StoreOptions{.worker_name = "process"});
}

void MultiWorld::operate()
{
    auto const kind = random_.below(100);
    auto& worker = any_worker();
    if (kind < 35)
        ask(worker);
    else if (kind < 39)
        cancel(worker);
    else if (kind < 65)
        give_up(worker);
    else if (kind < 69)
        disturb();
    else
        pass(any_time(kind < 96 ? 60 : 900));
    look_now_or_later();
}

void MultiWorld::ask(Worker& worker)
{
    if (worker.attempt)
        return;
    auto const attempt = std::make_shared<Attempt>();
    worker.attempt = attempt;
    attempt->note = std::to_string(++count_);
    std::vector<unsigned> all(keys);
    std::iota(all.begin(), all.end(), 0U);
    for (auto left = keys; left > 1; --left)
        std::swap(all[left - 1], all[random_.below(left)]);
    auto const count = random_.below(8) == 0 ? 1 : 2 + random_.below(keys - 1);
    attempt->named.assign(all.begin(), all.begin() + count);
    attempt->ordered = attempt->named;
    std::ranges::sort(attempt->ordered);

    std::vector<std::string> names;
    std::ranges::transform(attempt->named, std::back_inserter(names), name_of);
    MultiLock const locks(*process_of(worker).store, {.keys = std::move(names), .ttl = ttl, .note = attempt->note});
    AcquireOptions options;
    auto const kind = random_.below(10);
    bool const is_try = kind < 2;
    options.wait = is_try ? 0ms : kind < 6 ? any_time(4000) + 1ms : forever;
    attempt->is_try = is_try;
    attempt->ends_at = options.wait == forever ? Instant::max() : time_.now() + (is_try ? try_lasts : *options.wait);
    trace(1);
    auto handler = [this, &worker, attempt](error_code error, LeaseSet set) {
        acquired(worker, attempt, error, std::move(set));
    };
    auto const slot = attempt->cancel.slot();
    if (is_try && random_.below(2) == 0)
        locks.async_try_acquire(
            asio::bind_cancellation_slot(slot, [handler](error_code error, std::optional<LeaseSet> set) {
                bool const busy = !error && !set;
                handler(busy ? make_error_code(errc::timed_out) : error, std::move(set).value_or(LeaseSet()));
            }));
    else
        locks.async_acquire(options, asio::bind_cancellation_slot(slot, handler));
}

void MultiWorld::acquired(Worker& worker, std::shared_ptr<Attempt> const& attempt, error_code error, LeaseSet set)
{
    if (attempt->forgotten)
        return;
    expect(!std::exchange(attempt->done, true), "S14: the handler of an acquisition was called twice");
    trace(2 + static_cast<std::uint64_t>(error.value()));
    expect(!error == !set.empty(), "S9: an error came with a set, or the set is missing");
    expect(
        error != asio::error::operation_aborted || attempt->cancelled,
        "S9: an acquisition of several keys ended as cancelled, and was not");
    if (error) {
        ++outcome_.counts["sets refused"];
        over(worker, false);
        return;
    }
    ++outcome_.counts["sets granted"];
    look_at_new_set(worker, *attempt, set);
    worker.set = std::move(set);
    worker.set.token().async_wait([attempt](error_code) { attempt->told = true; });
}

void MultiWorld::over(Worker& worker, bool crashed)
{
    over_[worker.attempt->note] = {process_of(worker).link, time_.now(), crashed};
    worker.attempt.reset();
}

void MultiWorld::cancel(Worker& worker)
{
    auto const attempt = worker.attempt;
    if (!attempt || attempt->done)
        return;
    trace(100);
    attempt->cancelled = true;
    attempt->cancel.emit(random_.below(2) == 0 ? asio::cancellation_type::terminal : asio::cancellation_type::total);
    time_.run_ready();
    expect(attempt->done, "S9: a cancelled acquisition of several keys goes on");
    look();
}

void MultiWorld::give_up(Worker& worker)
{
    // a grant at this instant counts for the library already
    time_.run_ready();
    if (worker.set.empty())
        return;
    trace(101);
    auto set = std::move(worker.set);
    worker.set = LeaseSet();
    auto const token = set.token();
    auto const kind = random_.below(3);
    if (kind == 0) {
        set = LeaseSet();
    } else {
        auto const signal = std::make_shared<asio::cancellation_signal>();
        set.async_release(asio::bind_cancellation_slot(signal->slot(), [signal](error_code, ReleaseOutcome) {}));
        if (kind == 1)
            signal->emit(asio::cancellation_type::terminal);
        expect(!set.valid(), "S6: a set that was released is valid");
    }
    expect(token.cancelled(), "S6: the token of a released set is not cancelled");
    over(worker, false);
}

void MultiWorld::disturb()
{
    trace(102);
    ++outcome_.counts["faults around sets"];
    auto const key = random_.below(keys);
    auto& process = processes_[random_.below(processes)];
    auto const kind = random_.below(9);
    if (kind < 2) {
        // the library sees a grant of this instant before its loss
        time_.run_ready();
        look();
        robbed_.insert(known_.at(key).owner);
        if (kind == 0)
            domain_->remove(name_of(key));
        else
            domain_->overwrite(name_of(key), "somebody else", any_time(1000) + 1ms, time_.now());
    } else if (kind == 2) {
        process.link->set_reachable(false);
    } else if (kind == 3) {
        process.link->set_loses(random_.below(2) == 0, random_.below(2) == 0);
    } else if (kind == 4) {
        crash(process);
    } else if (kind == 5) {
        auto const delay = random_.below(2) == 0 ? 2ms : 40ms;
        for (auto const& each : processes_)
            each.link->set_longest_delay(delay);
    } else if (kind == 6 && random_.below(3) == 0) {
        // a wait that has not begun would begin when everything goes on
        time_.run_ready();
        time_.skip(any_time(2500));
        stood_still_ = time_.now();
    } else {
        for (auto const& each : processes_) {
            each.link->set_reachable(true);
            each.link->set_loses(false, false);
        }
    }
}

void MultiWorld::crash(Process& process)
{
    process.link->die();
    for (auto& worker : workers_) {
        if (&process_of(worker) != &process || !worker.attempt)
            continue;
        worker.attempt->forgotten = true;
        worker.attempt->cancel.emit(asio::cancellation_type::terminal);
        worker.set = LeaseSet();
        over(worker, true);
    }
    start(process);
}

/** Without faults everything that waits is granted, and nothing is left behind. */
void MultiWorld::finish()
{
    for (auto const& process : processes_) {
        process.link->set_reachable(true);
        process.link->set_loses(false, false);
        process.link->set_longest_delay(1ms);
    }
    auto const waits = [](Worker const& worker) { return worker.attempt && !worker.attempt->done; };
    bool const all_ended = let_all_be_granted(workers_, waits, [this](Worker& worker) { give_up(worker); });
    expect(all_ended, "L5: an acquisition of several keys waits for ever");
    pass(4 * ttl);
    for (auto const& known : known_)
        expect(known.owner.empty(), "S9: a key stays held although no process holds it");
    processes_.clear();
    pass(5s);
    expect(time_.state()->timers.empty(), "S14: timers are left after the last store is gone");
    workers_.clear();
}

SmallOutcome run_multi_world(std::uint64_t seed)
{
    return MultiWorld(seed).run();
}

} // namespace tenure::simulation
