// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Re-entrant locks against a small model: what each holder has, and so what it must be given.
#include "random.hpp"
#include "worlds.hpp"

#include <tenure/errc.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/reentrant_lock.hpp>
#include <tenure/testing.hpp>

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

/// after its callers have ended, a claim is answered and given back within this
constexpr milliseconds late_claim = 3 * ttl;

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
        bool cancelled = false;
        bool done = false;
        asio::cancellation_signal cancel;
    };
    std::list<std::shared_ptr<Asking>> asking;
    std::vector<ReentrantLease> holds;
    /// of sides: those that ask, or hold, began with the write lock
    bool writes = false;
    /// those that ask, or hold, were granted the key
    bool granted = false;
    /// of sides: until then a claim of the write lock, whose callers have ended, may be granted to readers
    Instant may_write_until = Instant::min();
};

class ReentrantWorld
{
public:
    explicit ReentrantWorld(std::uint64_t seed);

    SmallOutcome run();

private:
    void operate();
    void ask(Place& place);
    void asked(Place& place, Place::Asking& asking, error_code error, ReentrantLease hold);
    void cancel(Place& place);
    void end(Place& place);
    void disturb();
    void pass(milliseconds time);
    void look();
    void wake_at(Place& place);
    void finish();
    [[nodiscard]] static std::vector<ReentrantLock> locks_of(Store const& store, unsigned key);
    Place& any_place() { return places_[random_.below(static_cast<std::uint32_t>(places_.size()))]; }
    milliseconds any_time(int most) { return milliseconds(random_.between(0, most)); }
    void note(std::uint64_t what);
    void expect(bool holds, char const* rule);

    Random random_;
    testing::VirtualTime time_;
    testing::SimulatedStore simulated_{time_};
    std::vector<Store> stores_;
    std::vector<Holder> holders_;
    std::vector<Place> places_;
    /// of the leases that were handed out
    std::array<std::set<std::uint64_t>, key_names.size()> tokens_;
    bool reachable_ = true;
    bool loses_answers_ = false;
    SmallOutcome outcome_;
};

ReentrantWorld::ReentrantWorld(std::uint64_t seed)
    : random_(seed, 77)
{
    holders_.reserve(processes * holders_of_process);
    for (unsigned process = 0; process < processes; ++process) {
        auto const& store = stores_.emplace_back(simulated_.open("process-" + std::to_string(process)));
        for (unsigned number = 0; number < holders_of_process; ++number) {
            auto const& holder = holders_.emplace_back();
            for (unsigned key = 0; key < key_names.size(); ++key)
                places_.push_back({&holder, locks_of(store, key), process, key, {}, {}});
        }
    }
}

SmallOutcome ReentrantWorld::run()
{
    for (int step = 0; step < operations && outcome_.violation.empty(); ++step)
        operate();
    if (outcome_.violation.empty())
        finish();
    return outcome_;
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

void ReentrantWorld::operate()
{
    auto const kind = random_.below(100);
    auto& place = any_place();
    if (kind < 40)
        ask(place);
    else if (kind < 48)
        cancel(place);
    else if (kind < 75)
        end(place);
    else if (kind < 80)
        disturb();
    else
        pass(any_time(kind < 95 ? 100 : 700));
    // several things at one instant, too
    if (random_.below(3) != 0) {
        time_.run_ready();
        look();
    }
}

void ReentrantWorld::ask(Place& place)
{
    auto asking = std::make_shared<Place::Asking>();
    bool const on_sides = place.key == sides;
    bool const writes = on_sides && random_.below(3) == 0;
    if (on_sides)
        // a grant or an end of this instant counts for the library already
        time_.run_ready();
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
    auto const held = !place.holds.empty();
    auto const lost = held && place.holds.front().token().cancelled();
    bool const follows = held || !place.asking.empty();
    bool const deadlock = writes && follows && !place.writes && !lost;
    bool const sure_deadlock = deadlock && time_.now() > place.may_write_until;
    auto const refused_for_ttl = held && !lost && !deadlock && options.ttl && options.ttl != place.holds.front().ttl();
    if (!follows) {
        if (place.writes && !place.granted)
            place.may_write_until = time_.now() + late_claim;
        place.writes = writes;
        place.granted = false;
    }
    place.asking.push_back(asking);
    note(1);
    auto handler = [this, &place, asking, held, lost, deadlock, sure_deadlock,
                    refused_for_ttl](error_code error, ReentrantLease hold) {
        if (sure_deadlock || (deadlock && error == errc::would_deadlock))
            expect(error == errc::would_deadlock, "S16: a holder that reads was given the write lock");
        else if (deadlock)
            ++outcome_.counts["readers with a writer's lease"];
        else if (lost)
            expect(error == errc::lease_lost, "S16: a holder of a lost lease got something else than lease_lost");
        else if (refused_for_ttl)
            expect(error == boost::system::errc::invalid_argument, "S16: another ttl was not refused");
        else if (held)
            expect(!error && !hold.empty(), "S16: a holder was not given what it holds");
        else if (error == errc::would_deadlock)
            expect(false, "S16: a holder was told of a deadlock that there is not");
        else
            expect(error != errc::lease_lost, "S16: a holder that held nothing was told of a loss");
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
    if (held || sure_deadlock) {
        // an operation that needs no store is answered at once
        time_.run_ready();
        expect(asking->done, "S16: a holder waits for what it holds");
    }
}

void ReentrantWorld::asked(Place& place, Place::Asking& asking, error_code error, ReentrantLease hold)
{
    expect(!asking.done, "S14: the handler of an acquisition was called twice");
    asking.done = true;
    std::erase_if(place.asking, [&](auto const& one) { return one.get() == &asking; });
    note(2 + static_cast<std::uint64_t>(error.value()));
    expect(asking.ends_at == Instant::max() || time_.now() <= asking.ends_at + slack, "S9: a wait ended too late");
    expect(error != asio::error::operation_aborted || asking.cancelled, "S9: a wait ended as cancelled, and was not");
    expect(!error == !hold.empty(), "S9: an error came with a ReentrantLease, or a ReentrantLease is missing");
    if (error) {
        ++outcome_.counts["refusals"];
        return;
    }
    place.granted = true;
    if (!place.holds.empty()) {
        ++outcome_.counts["re-entries"];
        auto const& first = place.holds.front();
        expect(
            hold.fencing_token() == first.fencing_token() && hold.owner() == first.owner(),
            "S16: two Holds of a holder have different leases");
    } else {
        ++outcome_.counts["grants"];
        expect(
            tokens_.at(place.key).insert(hold.fencing_token()).second,
            "S16: a holder that held nothing was given a lease that was handed out before");
    }
    place.holds.push_back(std::move(hold));
}

void ReentrantWorld::cancel(Place& place)
{
    if (place.asking.empty())
        return;
    note(100);
    auto const asking =
        *std::next(place.asking.begin(), random_.below(static_cast<std::uint32_t>(place.asking.size())));
    asking->cancelled = true;
    asking->cancel.emit(random_.below(2) == 0 ? asio::cancellation_type::terminal : asio::cancellation_type::total);
    time_.run_ready();
    expect(asking->done, "S9: a cancelled wait goes on");
    look();
}

void ReentrantWorld::end(Place& place)
{
    // a grant at this instant counts for the library already
    time_.run_ready();
    if (place.holds.empty())
        return;
    note(101);
    ++outcome_.counts["ends"];
    auto const which = random_.below(static_cast<std::uint32_t>(place.holds.size()));
    auto hold = std::move(place.holds[which]);
    place.holds.erase(place.holds.begin() + which);
    bool const last = place.holds.empty();
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
        if (!last) {
            time_.run_ready();
            expect(told->has_value(), "S16: the end of one of several Holds is not answered at once");
        }
    }
    expect(token.cancelled() || !last, "S6: the token of a released lease is not cancelled");
}

void ReentrantWorld::disturb()
{
    note(102);
    ++outcome_.counts["faults"];
    auto const* const key = key_names.at(random_.below(key_names.size()));
    switch (random_.below(6)) {
    case 0:
        simulated_.remove(key);
        break;
    case 1:
        simulated_.overwrite(key, any_time(1000) + 1ms);
        break;
    case 2:
        simulated_.set_reachable(reachable_ = !reachable_ || random_.below(3) != 0);
        break;
    case 3:
        simulated_.set_answers_lost(loses_answers_ = !loses_answers_ && random_.below(3) == 0);
        break;
    default:
        simulated_.answer_after(random_.below(2) == 0 ? 0ms : any_time(60));
    }
}

void ReentrantWorld::pass(milliseconds time)
{
    note(103);
    time_.run_for(time);
}

/** All work that is due at this instant is done. */
void ReentrantWorld::look()
{
    for (auto& place : places_)
        wake_at(place);
}

void ReentrantWorld::wake_at(Place& place)
{
    auto const depth = place.holds.size();
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
    for (auto const& asking : place.asking)
        expect(
            asking->ends_at == Instant::max() || time_.now() <= asking->ends_at + slack, "S9: a wait goes on too long");
}

/** Without faults every holder gets every key, and nothing is left behind. */
void ReentrantWorld::finish()
{
    simulated_.set_reachable(true);
    simulated_.set_answers_lost(false);
    simulated_.answer_after(1ms);
    for (auto& place : places_) {
        for (auto const& asking : std::list(place.asking)) {
            asking->cancelled = true;
            asking->cancel.emit(asio::cancellation_type::terminal);
        }
        time_.run_ready();
        place.holds.clear();
    }
    time_.run_for(4 * ttl);
    for (auto const* key : key_names)
        expect(!simulated_.held(key), "S9: a key stays held although nobody holds it");
    for (auto& place : places_) {
        auto const asking = std::make_shared<Place::Asking>();
        asking->ends_at = Instant::max();
        place.writes = place.key == sides;
        place.locks.back().async_acquire(
            *place.holder, 5s, [this, &place, asking](error_code error, ReentrantLease hold) {
                expect(!error, "L1: a free key is not granted");
                asked(place, *asking, error, std::move(hold));
            });
        time_.run_for(100ms);
        expect(place.holds.size() == 1, "L1: a free key is not granted at once");
        place.holds.clear();
        time_.run_for(100ms);
    }
    stores_.clear();
    places_.clear();
    time_.run_for(5s);
}

void ReentrantWorld::note(std::uint64_t what)
{
    auto const when = static_cast<std::uint64_t>(time_.now().time_since_epoch().count());
    outcome_.trace = (outcome_.trace ^ when ^ (what << 48U)) * 0x100000001b3U;
}

void ReentrantWorld::expect(bool holds, char const* rule)
{
    if (!holds && outcome_.violation.empty())
        outcome_.violation = rule;
}

} // namespace

SmallOutcome run_reentrant_world(std::uint64_t seed)
{
    return ReentrantWorld(seed).run();
}

} // namespace tenure::simulation
