// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The invariants of a world of fair locks, read-write locks and semaphores.
#include "world.hpp"

#include <algorithm>

namespace tenure::simulation
{

namespace
{

using namespace std::chrono_literals;

/// nothing that gives something back takes longer, where nothing goes wrong
constexpr Clock::duration time_to_end = 1300ms;
/// from a release to the grant that it makes possible, where nothing goes wrong
constexpr Clock::duration time_to_grant = 300ms;

} // namespace

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

void ShareWorld::look_at_lapse(PlaceBook::Place const& place)
{
    ++outcome_.counts["lapses"];
    auto const* const process = process_called(place.process);
    expect(
        process == nullptr || !undisturbed(*process, ttl_ + time_to_end) ||
            recently_ended(place.process, place.key) > 0,
        "L7: a place of an undisturbed process has lapsed");
}

void ShareWorld::look_at_given_back(std::string const& owner)
{
    for (auto const& worker : workers_)
        expect(
            worker.lease.empty() || worker.lease.owner() != owner || !worker.lease.valid(),
            "S21: the place of a valid lease is given back");
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

ShareWorld::Process* ShareWorld::process_called(std::string const& name)
{
    auto const found = std::ranges::find(processes_, name, &Process::name);
    return found == processes_.end() ? nullptr : &*found;
}

} // namespace tenure::simulation
