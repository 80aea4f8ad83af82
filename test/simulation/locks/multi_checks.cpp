// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The invariants of a world of MultiLocks.
#include "multi_world.hpp"

#include <tenure/owner.hpp>

#include <algorithm>

namespace tenure::simulation
{

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// the longest pause between two attempts of anything, and what a round trip takes
constexpr milliseconds longest_pause = 1300ms;
/// how much later than its time a wait may end: what is left of it is counted in whole milliseconds
constexpr milliseconds late_timer = 2ms;
/// a message arrives within this
constexpr milliseconds longest_way = 40ms;

} // namespace

/** All work that is due at this instant is done. */
void MultiWorld::look()
{
    look_at_store();
    for (auto const& worker : workers_)
        if (worker.attempt)
            look_at_keys(worker);
    for (auto const& worker : workers_) {
        if (!worker.attempt)
            continue;
        if (worker.attempt->done)
            look_at_set(worker);
        else
            look_at_attempt(worker);
    }
    look_at_leftovers();
}

void MultiWorld::look_at_store()
{
    for (unsigned key = 0; key < keys; ++key) {
        auto const state = domain_->inspect(*ranges_.at(key), time_.now()).at(0);
        auto& known = known_.at(key);
        if (state.owner == known.owner)
            continue;
        known.owner = state.owner;
        auto const text = read_owner(state.owner);
        known.note = text ? text->note : std::string();
        if (known.owner.empty())
            known.free_since = time_.now();
    }
}

bool MultiWorld::settled(Worker const& worker) const
{
    return worker.attempt && !worker.attempt->done && !process_of(worker).link->asking(worker.attempt->note);
}

bool MultiWorld::quiet(Link const& link) const
{
    return time_.now() - std::max(link.last_trouble(), stood_still_) > longest_pause;
}

std::optional<unsigned> MultiWorld::first_missing(Attempt const& attempt) const
{
    for (auto const key : attempt.ordered)
        if (known_.at(key).note != attempt.note)
            return key;
    return std::nullopt;
}

void MultiWorld::look_at_keys(Worker const& worker)
{
    auto& attempt = *worker.attempt;
    for (auto const key : attempt.ordered) {
        auto const& known = known_.at(key);
        auto& seen = attempt.seen.at(key);
        if (!seen.empty() && known.owner != seen && !process_of(worker).link->gave_back(seen))
            attempt.lost_some = true;
        seen = known.note == attempt.note ? known.owner : std::string();
    }
}

void MultiWorld::look_at_attempt(Worker const& worker)
{
    auto const& attempt = *worker.attempt;
    auto const& link = *process_of(worker).link;
    // a lease that was granted meanwhile has expired when everything goes on, and is claimed once more
    auto const stood_still = stood_still_ + (attempt.is_try ? try_lasts : 0ms);
    expect(
        attempt.ends_at == Instant::max() || time_.now() <= std::max(attempt.ends_at, stood_still) + late_timer,
        "S9: an acquisition of several keys goes on beyond its wait");
    if (settled(worker) && quiet(link)) {
        look_at_order(worker);
        look_for_circle(worker);
    }
}

void MultiWorld::look_at_order(Worker const& worker)
{
    auto const& attempt = *worker.attempt;
    auto const holds = [&](unsigned key) { return known_.at(key).note == attempt.note; };
    auto const missing = first_missing(attempt);
    expect(missing.has_value(), "L5: an acquisition of several keys has all of them, and waits");
    if (!missing)
        return;
    ++outcome_.counts["looks at waiting sets"];
    if (attempt.lost_some) {
        // it waits for one of the missing keys, and it is not known for which
        auto const last_missing = *std::ranges::find_if_not(attempt.ordered.rbegin(), attempt.ordered.rend(), holds);
        expect(
            !holds(attempt.ordered.back()) || last_missing > attempt.ordered.back(),
            "S17: an acquisition waits, and holds a key behind all that it may wait for");
        return;
    }
    for (auto const key : attempt.ordered)
        expect(key < *missing || !holds(key), "S17: an acquisition waits for a key, and holds one behind it");
    auto const& awaited = known_.at(*missing);
    expect(
        !awaited.owner.empty() || time_.now() - std::max(awaited.free_since, stood_still_) <= 2 * longest_pause,
        "L1: an awaited key of several is free");
}

void MultiWorld::look_for_circle(Worker const& worker)
{
    auto const* at = &worker;
    for (std::size_t steps = 0; steps <= workers_.size(); ++steps) {
        auto const missing = first_missing(*at->attempt);
        // which key an acquisition waits for that has lost one is not known
        if (!missing || at->attempt->lost_some)
            return;
        auto const holder = std::ranges::find_if(workers_, [&](Worker const& other) {
            return settled(other) && quiet(*process_of(other).link) && other.attempt->note == known_.at(*missing).note;
        });
        if (holder == workers_.end())
            return;
        at = &*holder;
    }
    expect(false, "L5: acquisitions of several keys wait in a circle");
}

void MultiWorld::look_at_new_set(Worker const& worker, Attempt const& attempt, LeaseSet const& set)
{
    look_at_store();
    auto const& link = *process_of(worker).link;
    expect(set.size() == attempt.named.size(), "S18: a set has fewer keys than were named");
    for (std::size_t index = 0; index < std::min(set.size(), attempt.named.size()); ++index) {
        auto const& lease = set[index];
        auto const key = attempt.named[index];
        expect(lease.key() == ranges_.at(key)->key(0), "S18: the leases of a set are not in the order named");
        // a loss that is reported at this very instant may come behind the grant
        bool const robbed = robbed_.contains(lease.owner());
        expect(
            !lease.token().cancelled() || (robbed && !link.knows_of_loss(lease.owner())),
            "S18: a set was granted with a lease that is lost");
        if (!lease.valid() || robbed)
            continue;
        auto& last = tokens_.at(key);
        expect(lease.fencing_token() > last, "S10: a fencing token of a set is not greater than the last one");
        last = lease.fencing_token();
    }
}

void MultiWorld::look_at_set(Worker const& worker)
{
    auto const& link = *process_of(worker).link;
    bool lost = false;
    bool valid = true;
    for (std::size_t index = 0; index < worker.set.size(); ++index) {
        auto const& lease = worker.set[index];
        lost = lost || lease.token().cancelled() || link.knows_of_loss(lease.owner());
        valid = valid && lease.valid();
        auto const key = worker.attempt->named.at(index);
        expect(
            !lease.valid() || known_.at(key).owner == lease.owner() || robbed_.contains(lease.owner()),
            "S1: a lease of a set is valid, and the store has another owner");
    }
    expect(worker.set.valid() == valid, "S18: a set is not as valid as its weakest lease");
    expect(
        worker.set.token().cancelled() || !lost, "S5: a lease of a set is lost, and the set's token is not cancelled");
    expect(worker.attempt->told || !lost, "S5: a lease of a set is lost, and a wait for the set's token goes on");
    expect(!worker.set.token().cancelled() || lost, "S6: the token of a set is cancelled, and no lease is lost");
}

void MultiWorld::look_at_leftovers()
{
    for (auto const& known : known_) {
        auto const over = over_.find(known.note);
        if (known.owner.empty() || over == over_.end())
            continue;
        auto const& [link, since, crashed] = over->second;
        // requests that were on their way while everything was paused arrive after that
        if (crashed)
            expect(
                time_.now() - std::max(since, stood_still_) <= ttl + longest_way,
                "S13: a process has crashed, and a key is held beyond its ttl");
        else
            expect(
                link->asking(known.note) || !quiet(*link) || time_.now() - since <= longest_pause,
                "S9: an acquisition of several keys is over, and a key of it is held");
    }
}

} // namespace tenure::simulation
