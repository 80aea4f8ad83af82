// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Re-entrant locks against a small model: what each holder has, and so what it must be given.
#include "link.hpp"
#include "linked_world.hpp"
#include "threads.hpp"
#include "worlds.hpp"

#include <tenure/errc.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/reentrant_lock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace asio = boost::asio;

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds ttl = 1000ms;
constexpr int operations = 2000;
/// the last one is a read-write lock
constexpr std::array<char const*, 3> key_names{"a", "b", "sides"};
constexpr unsigned sides = 2;
constexpr unsigned processes = 2;
constexpr unsigned holders_of_process = 2;
/// how much later than its time a wait may end: what is left of it is counted in whole milliseconds
constexpr milliseconds slack = 2ms;
/// the ttl that some requests set instead of `ttl`
constexpr milliseconds other_ttl = 2 * ttl;
/// a try on a silent store: for the answer to a release, and then for that to its claim, 2 s or a ttl each
constexpr milliseconds longest_try = 2 * other_ttl;

/** The model's state of a holder and a key. */
struct Place {
    Holder const* holder;
    /// the lock; of sides, the read lock and the write lock
    std::vector<ReentrantLock> locks;
    unsigned process;
    unsigned key;

    /** One call that waits. */
    struct Asking {
        Instant ends_at;
        bool writes = false;
        bool cancelled = false;
        bool done = false;
        asio::cancellation_signal cancel;
    };
    std::list<std::shared_ptr<Asking>> asking;
    std::vector<ReentrantLease> holds;
    /// of sides: those that ask began with the write lock, or the lease is a writer's; unset: a call of the other kind
    /// came when the handlers of the earlier ones may have been ready, so it may have begun anew
    std::optional<bool> writes = false;
    /// of the last lease that was handed out
    std::uint64_t token = 0;
    /// ReentrantLeases of that lease whose handlers were ready when all others had ended
    std::uint32_t on_the_way = 0;
};

/** The answer that a call must get, as far as the model knows. */
struct Expected {
    /// all that is ready has run, so the library knows no more than the model
    bool sure;
    bool held;
    bool lost;
    /// the holder reads, and the call is for writing; unset: it may be so
    std::optional<bool> deadlock;
    bool refused_for_ttl;
};

class ReentrantWorld final : private LinkedWorld
{
public:
    explicit ReentrantWorld(std::uint64_t seed);

    SmallOutcome run() { return run_for(operations); }

private:
    void operate() override;
    void ask(Place& place);
    void judge(Expected const& expected, error_code error, ReentrantLease const& hold);
    void asked(Place& place, Place::Asking& asking, error_code error, ReentrantLease hold);
    void cancel(Place& place);
    void end(Place& place);
    void burst(Place& place);
    void disturb();
    void look() override;
    void look_at(Place& place);
    void finish() override;

    [[nodiscard]] Expected expected_of(Place const& place, bool writes, std::optional<milliseconds> time) const;
    [[nodiscard]] static std::vector<ReentrantLock> locks_of(Store const& store, unsigned key);
    /** Whether the place that the owner has in the store is a writer's; unset: it has no place. */
    [[nodiscard]] std::optional<bool> excludes_others(std::string const& owner) const;
    Place& any_place() { return places_[random_.below(static_cast<std::uint32_t>(places_.size()))]; }
    Place& any_place_of(unsigned key)
    {
        return places_[random_.below(processes * holders_of_process) * key_names.size() + key];
    }
    void pass(milliseconds time);

    Threads threads_{time_, random_};
    std::vector<std::shared_ptr<Link>> links_;
    std::vector<Store> stores_;
    std::vector<Holder> holders_;
    std::vector<Place> places_;
    KeyRangePtr sides_range_ = shared_key(key_names[sides]);
    /// of the leases that were handed out
    std::array<std::set<std::uint64_t>, key_names.size()> tokens_;
    bool bursts_ = false;
};

ReentrantWorld::ReentrantWorld(std::uint64_t seed)
    : LinkedWorld(seed, 77)
{
    holders_.reserve(processes * holders_of_process);
    for (unsigned process = 0; process < processes; ++process) {
        auto const runtime = threads_.make_runtime(seed_ * 1000 + ++count_);
        auto const& link = links_.emplace_back(std::make_shared<Link>(time_, domain_, seed_ * 1000 + ++count_));
        auto const& store =
            stores_.emplace_back(runtime, link->backend(runtime), StoreOptions{.worker_name = "process"});
        for (unsigned number = 0; number < holders_of_process; ++number) {
            auto const& holder = holders_.emplace_back();
            for (unsigned key = 0; key < key_names.size(); ++key)
                places_.push_back({&holder, locks_of(store, key), process, key, {}, {}});
        }
    }
}

std::vector<ReentrantLock> ReentrantWorld::locks_of(Store const& store, unsigned key)
{
    std::vector<ReentrantLock> locks;
    if (key == sides) {
        ReadWriteLock const both(store, {.key = key_names[sides], .ttl = ttl});
        locks.emplace_back(both.read_lock());
        locks.emplace_back(both.write_lock());
    } else {
        locks.emplace_back(store, LockConfig{.key = key_names.at(key), .ttl = ttl});
    }
    return locks;
}

std::optional<bool> ReentrantWorld::excludes_others(std::string const& owner) const
{
    for (auto const& state : domain_->inspect(*sides_range_, time_.now()))
        for (auto const& place : state.places)
            if (place.owner == owner)
                return place.weight == place.capacity;
    return std::nullopt;
}

void ReentrantWorld::pass(milliseconds time)
{
    trace(103);
    auto const end = time_.now() + time;
    auto const& timers = time_.state()->timers;
    threads_.run_ready();
    while (!timers.empty() && timers.begin()->first.first <= end) {
        look();
        time_.skip(timers.begin()->first.first - time_.now());
        threads_.run_ready();
    }
    look();
    time_.skip(end - time_.now());
}

void ReentrantWorld::operate()
{
    auto const kind = random_.below(100);
    auto& place = any_place();
    if (kind < 24)
        ask(place);
    else if (kind < 30)
        cancel(place);
    else if (kind < 50)
        end(place);
    else if (kind < 75)
        burst(random_.below(2) == 0 ? place : any_place_of(sides));
    else if (kind < 80)
        disturb();
    else
        pass(any_time(kind < 95 ? 100 : 700));
    // several things at one instant, too
    if (random_.below(3) != 0) {
        threads_.run_ready();
        look();
    }
}

/** A few operations of one holder at one instant, between which other threads run some of what is ready. One of these
 *  threads may be interrupted meanwhile, so that what the library was told early is handled late. */
void ReentrantWorld::burst(Place& place)
{
    threads_.run_ready();
    trace(104);
    bursts_ = true;
    for (auto left = 4 + random_.below(12); left > 0; --left) {
        if (random_.below(4) == 0)
            threads_.resume();
        auto const kind = random_.below(100);
        if (kind < 10)
            cancel(place);
        else if (kind < 30)
            end(place);
        else if (kind < 65)
            while (!place.holds.empty())
                end(place);
        // also at once after the last one has ended
        if (kind >= 45)
            ask(place);
        // nothing, something, or all but what is interrupted
        auto const runs = random_.below(3);
        for (auto most = runs == 0 ? 0 : random_.below(24); most > 0 || runs == 2; --most) {
            if (random_.below(8) == 0)
                threads_.interrupt();
            if (!threads_.run_one())
                break;
        }
    }
    bursts_ = false;
    threads_.run_ready();
    look();
}

Expected ReentrantWorld::expected_of(Place const& place, bool writes, std::optional<milliseconds> time) const
{
    Expected expected{threads_.quiet(), !place.holds.empty(), false, false, false};
    expected.lost = expected.held && place.holds.front().token().cancelled();
    bool const follows = expected.held || !place.asking.empty();
    if (writes && follows && !expected.lost && place.writes != true) {
        expected.deadlock.reset();
        if (place.writes && (expected.held || expected.sure))
            expected.deadlock = true;
    }
    expected.refused_for_ttl = expected.held && !expected.lost && time && time != place.holds.front().ttl();
    return expected;
}

void ReentrantWorld::ask(Place& place)
{
    if (!bursts_ && place.key == sides)
        // a grant or an end of this instant counts for the library already
        threads_.run_ready();
    auto asking = std::make_shared<Place::Asking>();
    bool const writes = place.key == sides && random_.below(3) == 0;
    asking->writes = writes;
    AcquireOptions options;
    auto const kind = random_.below(10);
    bool const is_try = kind < 2;
    options.wait = is_try ? 0ms : kind < 9 ? any_time(3000) : forever;
    if (random_.below(10) == 0)
        options.ttl = ttl;
    if (random_.below(20) == 0)
        options.ttl = other_ttl;
    asking->ends_at = options.wait == forever ? Instant::max()
                      : options.wait == 0ms   ? time_.now() + longest_try
                                              : time_.now() + *options.wait;
    auto const expected = expected_of(place, writes, options.ttl);
    if (!expected.held && place.asking.empty())
        place.writes = writes;
    else if (!expected.held && !expected.sure && place.writes != writes)
        place.writes.reset();
    place.asking.push_back(asking);
    trace(1);
    auto handler = [this, &place, asking, expected](error_code error, ReentrantLease hold) {
        judge(expected, error, hold);
        asked(place, *asking, error, std::move(hold));
    };
    auto const slot = asking->cancel.slot();
    auto const& lock = place.locks[writes ? 1 : 0];
    if (is_try && random_.below(2) == 0)
        lock.async_try_acquire(
            *place.holder, options,
            asio::bind_cancellation_slot(
                slot, [handler = std::move(handler)](error_code error, std::optional<ReentrantLease> hold) mutable {
                    auto const busy = !error && !hold;
                    handler(
                        busy ? make_error_code(errc::timed_out) : error, std::move(hold).value_or(ReentrantLease()));
                }));
    else
        lock.async_acquire(*place.holder, options, asio::bind_cancellation_slot(slot, std::move(handler)));
    if (!bursts_ && (expected.held || expected.deadlock == true)) {
        // an operation that needs no store is answered at once
        threads_.run_ready();
        expect(asking->done, "S16: a holder waits for what it holds");
    }
}

void ReentrantWorld::judge(Expected const& expected, error_code error, ReentrantLease const& hold)
{
    bool const told_of_deadlock = error == errc::would_deadlock;
    if (expected.lost) {
        expect(error == errc::lease_lost, "S16: a holder of a lost lease got something else than lease_lost");
    } else if (expected.deadlock == true) {
        expect(told_of_deadlock, "S16: a holder that reads was not refused the write lock");
    } else if (expected.deadlock == false && (expected.held || expected.sure)) {
        expect(!told_of_deadlock, "S16: a holder was told of a deadlock that there is not");
        if (expected.refused_for_ttl)
            expect(error == boost::system::errc::invalid_argument, "S16: another ttl was not refused");
        else if (expected.held)
            expect(!error && !hold.empty(), "S16: a holder was not given what it holds");
        else
            expect(error != errc::lease_lost, "S16: a holder that held nothing was told of a loss");
    }
}

void ReentrantWorld::asked(Place& place, Place::Asking& asking, error_code error, ReentrantLease hold)
{
    expect(!asking.done, "S14: the handler of an acquisition was called twice");
    asking.done = true;
    std::erase_if(place.asking, [&](auto const& one) { return one.get() == &asking; });
    trace(2 + static_cast<std::uint64_t>(error.value()));
    expect(asking.ends_at == Instant::max() || time_.now() <= asking.ends_at + slack, "S9: a wait ended too late");
    expect(error != asio::error::operation_aborted || asking.cancelled, "S9: a wait ended as cancelled, and was not");
    expect(!error == !hold.empty(), "S9: an error came with a ReentrantLease, or a ReentrantLease is missing");
    if (error) {
        ++outcome_.counts["refusals"];
        return;
    }
    auto const token = hold.fencing_token();
    if (!place.holds.empty()) {
        ++outcome_.counts["re-entries"];
        auto const& first = place.holds.front();
        expect(
            token == first.fencing_token() && hold.owner() == first.owner(),
            "S16: two Holds of a holder have different leases");
    } else if (place.on_the_way > 0) {
        ++outcome_.counts["late re-entries"];
        expect(token == place.token, "S16: a holder was given another lease before the last one had ended");
    } else {
        ++outcome_.counts["grants"];
        expect(
            tokens_.at(place.key).insert(token).second,
            "S16: a holder that held nothing was given a lease that was handed out before");
    }
    if (auto const excludes = excludes_others(hold.owner()); place.key == sides && excludes) {
        expect(*excludes || !asking.writes, "S16: a holder was given the write lock with the lease of a reader");
        place.writes = excludes;
    }
    expect(hold.depth() > place.holds.size(), "S16: a ReentrantLease counts wrongly");
    place.token = token;
    place.on_the_way = 0;
    place.holds.push_back(std::move(hold));
}

void ReentrantWorld::cancel(Place& place)
{
    if (place.asking.empty())
        return;
    trace(100);
    auto const asking =
        *std::next(place.asking.begin(), random_.below(static_cast<std::uint32_t>(place.asking.size())));
    asking->cancelled = true;
    asking->cancel.emit(random_.below(2) == 0 ? asio::cancellation_type::terminal : asio::cancellation_type::total);
    if (bursts_)
        return;
    threads_.run_ready();
    look();
}

void ReentrantWorld::end(Place& place)
{
    if (!bursts_)
        // a grant at this instant counts for the library already
        threads_.run_ready();
    if (place.holds.empty())
        return;
    trace(101);
    ++outcome_.counts["ends"];
    auto const which = random_.below(static_cast<std::uint32_t>(place.holds.size()));
    auto hold = std::move(place.holds[which]);
    place.holds.erase(place.holds.begin() + which);
    // with those whose handlers are ready
    auto const depth = hold.depth();
    bool const last = depth == 1;
    auto const with_this = place.holds.size() + 1;
    expect(threads_.quiet() ? depth == with_this : depth >= with_this, "S16: a ReentrantLease counts wrongly");
    if (place.holds.empty())
        place.on_the_way = depth - 1;
    auto const token = hold.token();
    auto const kind = random_.below(3);
    if (kind == 0) {
        hold = ReentrantLease();
    } else {
        auto const signal = std::make_shared<asio::cancellation_signal>();
        auto const told = std::make_shared<std::optional<ReleaseOutcome>>();
        hold.async_release(asio::bind_cancellation_slot(
            signal->slot(), [this, signal, told, last](error_code error, ReleaseOutcome outcome) {
                *told = outcome;
                if (!error)
                    expect(
                        (outcome == ReleaseOutcome::still_held) != last,
                        "S16: a release says wrongly whether others hold the key");
            }));
        expect(!hold.valid() && hold.depth() == 0, "S16: a released ReentrantLease goes on");
        if (kind == 1)
            signal->emit(asio::cancellation_type::terminal);
        if (!last && !bursts_) {
            threads_.run_ready();
            expect(told->has_value(), "S16: the end of one of several Holds is not answered at once");
        }
    }
    expect(token.cancelled() || !last, "S6: the token of a released lease is not cancelled");
}

void ReentrantWorld::disturb()
{
    trace(102);
    ++outcome_.counts["faults"];
    auto const* const key = key_names.at(random_.below(key_names.size()));
    auto& link = *links_[random_.below(processes)];
    switch (random_.below(6)) {
    case 0:
        domain_->remove(key);
        break;
    case 1:
        domain_->overwrite(key, "another client", any_time(1000) + 1ms, time_.now());
        break;
    case 2:
        link.set_reachable(random_.below(3) != 0);
        break;
    case 3: {
        auto const lost = random_.below(6);
        link.set_loses(lost == 0, lost == 1);
        break;
    }
    default:
        link.set_longest_delay(random_.below(2) == 0 ? 0ms : any_time(60));
    }
}

/** All work that is due at this instant is done. */
void ReentrantWorld::look()
{
    for (auto& place : places_)
        look_at(place);
}

void ReentrantWorld::look_at(Place& place)
{
    auto const depth = place.holds.size();
    expect(depth > 0 || place.on_the_way == 0, "S16: a ReentrantLease counts a lease that was never granted");
    for (auto const& hold : place.holds) {
        expect(hold.depth() == depth, "S16: a ReentrantLease counts wrongly");
        expect(
            hold.token().cancelled() == place.holds.front().token().cancelled(), "S16: a loss reaches some Holds only");
        for (auto const& other : places_)
            if (&other != &place && other.key == place.key)
                for (auto const& foreign : other.holds)
                    expect(foreign.fencing_token() != hold.fencing_token(), "S1: two holders have one lease");
    }
    if (depth > 0)
        expect(place.asking.empty(), "S16: a holder waits for what it holds");
    for (auto const& asking : place.asking) {
        expect(!asking->cancelled, "S9: a cancelled wait goes on");
        expect(
            asking->ends_at == Instant::max() || time_.now() <= asking->ends_at + slack, "S9: a wait goes on too long");
    }
}

/** Without faults every holder gets every key, and nothing is left behind. */
void ReentrantWorld::finish()
{
    for (auto const& link : links_) {
        link->set_reachable(true);
        link->set_loses(false, false);
        link->set_longest_delay(1ms);
    }
    threads_.run_ready();
    for (auto& place : places_) {
        for (auto const& asking : std::list(place.asking)) {
            asking->cancelled = true;
            asking->cancel.emit(asio::cancellation_type::terminal);
        }
        threads_.run_ready();
        place.holds.clear();
    }
    pass(4 * ttl);
    for (auto const* key : key_names)
        expect(!domain_->held(key, time_.now()), "S9: a key stays taken without a holder");
    for (auto& place : places_) {
        auto const asking = std::make_shared<Place::Asking>();
        asking->ends_at = Instant::max();
        place.writes = asking->writes = place.key == sides;
        place.locks.back().async_acquire(
            *place.holder, 5s, [this, &place, asking](error_code error, ReentrantLease hold) {
                expect(!error, "L1: a free key is not granted");
                asked(place, *asking, error, std::move(hold));
            });
        pass(100ms);
        expect(place.holds.size() == 1, "L1: a free key is not granted at once");
        place.holds.clear();
        pass(100ms);
    }
    stores_.clear();
    places_.clear();
    pass(5000ms);
}

} // namespace

SmallOutcome run_reentrant_world(std::uint64_t seed)
{
    return ReentrantWorld(seed).run();
}

} // namespace tenure::simulation
