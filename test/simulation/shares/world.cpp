// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Fair locks, read-write locks and semaphores: processes that acquire, give up and release at random, and a fair world.
#include "locks/link.hpp"
#include "paused_runtime.hpp"
#include "place_book.hpp"
#include "random.hpp"
#include "small_world.hpp"

#include <tenure/errc.hpp>
#include <tenure/owner.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/semaphore.hpp>
#include <tenure/store.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace asio = boost::asio;

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr unsigned processes = 3;
constexpr unsigned workers_of_process = 3;
constexpr int steps_of_world = 1200;
/// nothing that gives something back takes longer, where nothing goes wrong
constexpr Clock::duration time_to_end = 1300ms;
/// from a release to the grant that it makes possible, where nothing goes wrong
constexpr Clock::duration time_to_grant = 300ms;
constexpr std::array<char const*, 3> keys{"fair", "read-write", "semaphore"};

/** One acquisition, from the call until its lease is given up. */
struct Attempt {
    std::string key;
    Share share;
    bool done = false;
    bool cancelled = false;
    /// its process has crashed
    bool forgotten = false;
    asio::cancellation_signal cancel;
};

struct Process {
    /// unique to this life
    std::string name;
    std::shared_ptr<PausedRuntime> runtime;
    std::shared_ptr<Link> link;
    std::optional<Store> store;
    std::uint32_t permits = 3;
    Instant born{};
    /// until when it was paused last
    Instant stood_still{};
};

struct Worker {
    unsigned process = 0;
    /// it waits, or `lease` is its result
    std::shared_ptr<Attempt> attempt;
    Lease lease;
};

/** The end of an acquisition: what it had in the store may stay there for a moment. */
struct Ended {
    std::string process;
    std::string key;
    Instant at;
};

class ShareWorld
{
public:
    explicit ShareWorld(std::uint64_t seed);
    SmallOutcome run();

private:
    void operate();
    void start(Process& process);
    void ask(Worker& worker);
    void acquired(Worker& worker, std::shared_ptr<Attempt> const& attempt, error_code error, Lease lease);
    void give_up(Worker& worker);
    void over(Worker& worker);
    void disturb();
    void crash(Process& process);
    void pass(milliseconds time);
    void look();
    void look_at_sums();
    void look_at_leases();
    void look_at_places();
    void look_at_new(Attempt const& attempt, Lease const& lease);
    void finish();

    /** Nothing has gone wrong with the process for this time. */
    [[nodiscard]] bool undisturbed(Process const& process, Clock::duration time) const;
    [[nodiscard]] std::ptrdiff_t recently_ended(std::string const& process, std::string const& key) const;
    [[nodiscard]] Process* process_called(std::string const& name);
    Process& process_of(Worker const& worker) { return processes_[worker.process]; }
    Worker& any_worker() { return workers_[random_.below(static_cast<std::uint32_t>(workers_.size()))]; }
    milliseconds any_time(int most) { return milliseconds(random_.between(0, most)); }
    void trace(std::uint64_t what);
    void expect(bool holds, char const* rule);

    std::uint64_t seed_;
    Random random_;
    testing::VirtualTime time_;
    std::shared_ptr<memory::Domain> domain_ = memory::Domain::named("");
    PlaceBook book_{time_};
    milliseconds ttl_;
    milliseconds longest_pause_;
    std::vector<Process> processes_;
    std::vector<Worker> workers_;
    std::vector<Ended> ended_;
    /// until when messages took long
    Instant slow_until_{};
    bool slow_ = false;
    /// by key: the greatest tokens of leases that were exclusive, and of all
    std::array<std::array<std::uint64_t, 2>, keys.size()> tokens_{};
    std::uint64_t count_ = 0;
    SmallOutcome outcome_;
};

ShareWorld::ShareWorld(std::uint64_t seed)
    : seed_(seed)
    , random_(seed, 91)
    , ttl_(random_.below(2) == 0 ? 1000ms : 3000ms)
    // a long pause, with which only the rule of places keeps them
    , longest_pause_(random_.below(2) == 0 ? 1000ms : 30000ms)
    , processes_(processes)
{
    book_.on_violation = [this](char const* rule) { expect(false, rule); };
    book_.on_lapse = [this](PlaceBook::Place const& place) {
        ++outcome_.counts["lapses"];
        auto const* const process = process_called(place.process);
        expect(
            process == nullptr || !undisturbed(*process, ttl_ + time_to_end) ||
                recently_ended(place.process, place.key) > 0,
            "L7: a place of an undisturbed process has lapsed");
    };
    book_.on_give_back = [this](std::string const& owner) {
        for (auto const& worker : workers_)
            expect(
                worker.lease.empty() || worker.lease.owner() != owner || !worker.lease.valid(),
                "S21: the place of a valid lease is given back");
    };
    for (unsigned process = 0; process < processes; ++process) {
        start(processes_[process]);
        for (unsigned number = 0; number < workers_of_process; ++number)
            workers_.push_back({process, nullptr, Lease()});
    }
}

SmallOutcome ShareWorld::run()
{
    for (int step = 0; step < steps_of_world && outcome_.violation.empty(); ++step)
        operate();
    if (outcome_.violation.empty())
        finish();
    return outcome_;
}

void ShareWorld::start(Process& process)
{
    auto const seed = seed_ * 1000 + ++count_;
    process.name = "process-" + std::to_string(count_);
    process.runtime = std::make_shared<PausedRuntime>(time_, seed);
    process.link = std::make_shared<Link>(time_, domain_, seed);
    process.link->set_witness(book_);
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
    // several things at one instant, too
    if (random_.below(3) != 0) {
        time_.run_ready();
        look();
    }
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

void ShareWorld::look_at_new(Attempt const& attempt, Lease const& lease)
{
    if (!lease.valid())
        return;
    auto const* const place = book_.find(attempt.key, lease.owner());
    expect(
        place != nullptr && place->holds() && place->number == lease.fencing_token(),
        "S21: a lease was granted whose place does not hold");
    // of two that exclude each other, the later one has the greater number
    auto const key = static_cast<std::size_t>(std::ranges::find(keys, attempt.key) - keys.begin());
    auto& [exclusive, any] = tokens_.at(key);
    expect(
        lease.fencing_token() > (attempt.share.exclusive() ? any : exclusive),
        "S20: a later lease has a smaller number than one that it excludes");
    any = std::max(any, lease.fencing_token());
    if (attempt.share.exclusive())
        exclusive = std::max(exclusive, lease.fencing_token());
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

void ShareWorld::pass(milliseconds time)
{
    trace(103);
    auto const end = time_.now() + time;
    time_.run_ready();
    look();
    auto const& timers = time_.state()->timers;
    while (!timers.empty() && timers.begin()->first.first <= end) {
        time_.run_for(timers.begin()->first.first - time_.now());
        look();
    }
    time_.run_for(end - time_.now());
}

void ShareWorld::look()
{
    std::erase_if(ended_, [&](Ended const& one) { return one.at + time_to_end < time_.now(); });
    look_at_sums();
    look_at_leases();
    look_at_places();
}

void ShareWorld::look_at_sums()
{
    for (auto const* const key : keys) {
        std::uint64_t sum = 0;
        std::uint64_t least = Share::all;
        for (auto const& worker : workers_)
            if (worker.attempt && worker.attempt->key == key && worker.lease.valid()) {
                sum += worker.attempt->share.weight;
                least = std::min<std::uint64_t>(least, worker.attempt->share.capacity);
            }
        expect(sum <= least, "S19: leases exceed the capacity of their key");
    }
}

void ShareWorld::look_at_leases()
{
    for (auto& worker : workers_) {
        if (worker.lease.empty() || !worker.lease.token().cancelled() || process_of(worker).runtime->paused())
            continue;
        expect(!undisturbed(process_of(worker), ttl_ + time_to_end), "S21: an undisturbed process has lost a lease");
        give_up(worker);
    }
}

void ShareWorld::look_at_places()
{
    for (auto const* const key : keys)
        for (auto const& place : book_.line(key)) {
            auto* const process = process_called(place.process);
            if (process == nullptr || !undisturbed(*process, ttl_ + time_to_end))
                continue;
            auto const of_place = [&](Worker const& worker) {
                return worker.attempt && worker.attempt->key == key && process_of(worker).name == place.process;
            };
            auto const active = std::ranges::count_if(workers_, of_place);
            auto const places = std::ranges::count(book_.line(key), place.process, &PlaceBook::Place::process);
            auto const ended = recently_ended(place.process, key);
            expect(places <= active + ended, "S23: a place has outlived its acquisition");
            bool const leased = std::ranges::any_of(
                workers_, [&](Worker const& worker) { return worker.lease.owner() == place.owner; });
            expect(
                leased || ended > 0 || place.holds_since > time_.now() - time_to_grant,
                "L6: a waiter whose place holds is not granted");
        }
}

bool ShareWorld::undisturbed(Process const& process, Clock::duration time) const
{
    auto const since = time_.now() - time;
    return !process.runtime->paused() && !slow_ && slow_until_ < since && process.link->last_trouble() < since &&
           process.stood_still < since && process.born < since;
}

std::ptrdiff_t ShareWorld::recently_ended(std::string const& process, std::string const& key) const
{
    return std::ranges::count_if(ended_, [&](Ended const& one) { return one.process == process && one.key == key; });
}

Process* ShareWorld::process_called(std::string const& name)
{
    auto const found = std::ranges::find(processes_, name, &Process::name);
    return found == processes_.end() ? nullptr : &*found;
}

/** Without faults every waiter is granted, and nothing is left behind. */
void ShareWorld::finish()
{
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
    for (int round = 0; round < 300 && std::ranges::any_of(workers_, waits); ++round) {
        pass(any_time(100));
        for (auto& worker : workers_)
            if (random_.below(2) == 0)
                give_up(worker);
    }
    expect(std::ranges::none_of(workers_, waits), "L6: a waiter is not granted");
    for (auto& worker : workers_)
        give_up(worker);
    pass(1300ms);
    for (auto const* const key : keys)
        for (auto const& place : book_.line(key))
            expect(process_called(place.process) == nullptr, "S23: a place is left behind");
    // those of dead processes
    pass(ttl_);
    for (auto const* const key : keys)
        expect(book_.line(key).empty(), "S23: a dead process has a place");
    processes_.clear();
    pass(5s);
    expect(time_.state()->timers.empty(), "S14: timers are left after the last store is gone");
    workers_.clear();
}

void ShareWorld::trace(std::uint64_t what)
{
    auto const when = static_cast<std::uint64_t>(time_.now().time_since_epoch().count());
    outcome_.trace = (outcome_.trace ^ when ^ (what << 48U)) * 0x100000001b3U;
}

void ShareWorld::expect(bool holds, char const* rule)
{
    if (!holds && outcome_.violation.empty())
        outcome_.violation = rule;
}

/** Four processes that take turns at a fair lock without a fault. The waits of one are shorter than its turn takes. */
SmallOutcome run_fair_world(std::uint64_t seed)
{
    constexpr unsigned equals = 4;
    constexpr unsigned waiters = 3;
    constexpr auto hold = 100ms;
    SmallOutcome outcome;
    testing::VirtualTime time;
    Random random(seed, 92);
    auto const domain = memory::Domain::named("");
    std::array<std::uint64_t, equals> turns{};
    bool ends = false;
    {
        std::vector<Store> stores;
        std::vector<std::function<void()>> loops;
        for (unsigned process = 0; process < equals; ++process) {
            auto const runtime = testing::make_runtime(time, seed * 10 + process);
            auto const link = std::make_shared<Link>(time, domain, seed * 10 + process);
            link->set_longest_delay(2ms);
            stores.emplace_back(runtime, link->backend(runtime), StoreOptions{.worker_name = "worker"});
        }
        for (unsigned process = 0; process < equals; ++process)
            for (unsigned waiter = 0; waiter < waiters; ++waiter) {
                auto const lock =
                    std::make_shared<Lock>(stores[process], LockConfig{.key = "fair", .ttl = 3s, .fair = true});
                auto const loop = std::make_shared<std::function<void()>>();
                *loop = [&, process, lock, weak = std::weak_ptr(loop)] {
                    // different ones: a place passes only to a waiter whose wait goes on
                    auto const wait = process == 0 ? milliseconds(random.between(150, 250)) : 5000ms;
                    lock->async_acquire(
                        {.wait = wait}, [&, process, next = weak.lock()](error_code error, Lease lease) {
                            if (ends || !next)
                                return;
                            if (error) {
                                (*next)();
                                return;
                            }
                            ++turns.at(process);
                            auto const held = std::make_shared<Lease>(std::move(lease));
                            time.async_wait_for(hold, [held, next](error_code) {
                                *held = Lease();
                                (*next)();
                            });
                        });
                };
                loops.emplace_back([loop] { (*loop)(); });
            }
        for (auto const& loop : loops)
            loop();
        time.run_for(60s);
        ends = true;
        loops.clear();
    }
    time.run_for(10s);
    std::uint64_t all = 0;
    for (auto const count : turns)
        all += count;
    for (auto const count : turns) {
        outcome.trace = outcome.trace * 0x100000001b3U ^ count;
        if (2 * equals * count < all || equals * count > 2 * all)
            outcome.violation = "L8: a process gets less than half or more than twice its share of turns";
    }
    outcome.counts["turns"] = all;
    return outcome;
}

} // namespace

SmallOutcome run_small_world(std::uint64_t seed)
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

std::string_view small_layer() noexcept
{
    return "shares";
}

} // namespace tenure::simulation
