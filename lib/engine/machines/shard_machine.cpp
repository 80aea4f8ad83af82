// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ShardMachine: shares by rank, claims, and the end of shards.
#include "shard_machine.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace tenure::engine
{

namespace
{

constexpr unsigned backoff_doublings = 4;

bool contains(std::span<ShardMachine::Number const> numbers, ShardMachine::Number number)
{
    return std::ranges::find(numbers, number) != numbers.end();
}

} // namespace

// -- the member --

ShardMachine::Actions ShardMachine::joined(std::vector<Number> numbers, Instant now)
{
    if (member_ == Member::joins) {
        numbers_ = std::move(numbers);
        member_ = Member::is;
        settled_at_ = now + terms_.settle;
        gives_up_at_ = Instant::max();
        failing_since_.reset();
    }
    return decide(now);
}

ShardMachine::Actions ShardMachine::membership_lost(Instant now)
{
    if (member_ == Member::is) {
        numbers_.clear();
        cancel_claims(pending_);
        gives_up_at_ = now + terms_.ttl;
        member_ = Member::out;
    }
    return decide(now);
}

ShardMachine::Actions ShardMachine::viewed(std::span<Number const> live, Instant now)
{
    bool const was_stale = std::exchange(stale_, false);
    if (was_stale)
        settled_at_ = now + terms_.settle;
    for (auto const number : live_)
        if (!contains(live, number))
            vanished_.emplace_back(number, now + terms_.pause);
    std::erase_if(vanished_, [&](auto const& one) { return contains(live, one.first); });
    live_.assign(live.begin(), live.end());
    return decide(now);
}

ShardMachine::Actions ShardMachine::view_stale(Instant now)
{
    stale_ = true;
    return decide(now);
}

ShardMachine::Actions ShardMachine::leave(bool at_once, Instant now)
{
    go(now);
    member_ = Member::left;
    for (auto& held : held_)
        if (at_once && held.state == Held::State::stops)
            held.stop_by = std::min(held.stop_by, now);
    return decide(now);
}

void ShardMachine::go(Instant now)
{
    if (member_ == Member::is || member_ == Member::joins)
        actions_.push_back({Kind::quit});
    member_ = Member::out;
    numbers_.clear();
    gives_up_at_ = Instant::max();
    cancel_claims(pending_);
    give_up_newest(held_.size(), now);
}

std::size_t ShardMachine::share(bool with_vanished) const
{
    auto all = numbers_;
    auto const add = [&](Number number) {
        if (!contains(numbers_, number))
            all.push_back(number);
    };
    std::ranges::for_each(live_, add);
    if (with_vanished)
        std::ranges::for_each(vanished_ | std::views::keys, add);
    std::ranges::sort(all);
    std::size_t share = 0;
    for (auto const number : numbers_) {
        auto const rank = static_cast<std::size_t>(std::ranges::find(all, number) - all.begin());
        // q + 1 for the ranks below r, q for the others
        share += (terms_.shards + all.size() - 1 - rank) / all.size();
    }
    return share;
}

// -- shards --

ShardMachine::Actions ShardMachine::granted(Number shard, bool cancelled, Instant now)
{
    if (!cancelled)
        --pending_;
    failing_since_.reset();
    backoffs_ = 0;
    bool const ending = find(shard) != held_.end();
    bool const surplus = owned().size() >= share();
    if (ending)
        claims_from_ = now + terms_.refresh;
    if (ending || surplus) {
        actions_.push_back({Kind::give_back, shard});
    } else {
        held_.push_back({shard});
        actions_.push_back({Kind::begin, shard});
    }
    return decide(now);
}

ShardMachine::Actions ShardMachine::claim_failed(Instant now)
{
    --pending_;
    claims_from_ = now + terms_.refresh;
    failing_since_ = failing_since_.value_or(now);
    if (member_ == Member::is && now - *failing_since_ >= terms_.ttl) {
        go(now);
        failing_since_.reset();
        joins_at_ = now + terms_.ttl * (1 << std::min(backoffs_++, backoff_doublings));
    }
    return decide(now);
}

ShardMachine::Actions ShardMachine::lost(Number shard, Instant now)
{
    auto const held = find(shard);
    if (held == held_.end())
        return decide(now);
    held->stop_by = Instant::max();
    bool const works = std::exchange(held->state, Held::State::lost) != Held::State::finished;
    return works ? decide(now) : work_ended(shard, now);
}

ShardMachine::Actions ShardMachine::work_ended(Number shard, Instant now)
{
    auto const held = find(shard);
    if (held != held_.end() && held->counts())
        held->state = Held::State::finished;
    else if (held != held_.end())
        release(held);
    return decide(now);
}

std::vector<ShardMachine::Number> ShardMachine::owned() const
{
    std::vector<Number> owned;
    for (auto const& held : held_)
        if (held.counts())
            owned.push_back(held.shard);
    return owned;
}

// -- the decision --

ShardMachine::Actions ShardMachine::decide(Instant now)
{
    now_ = now;
    std::erase_if(vanished_, [&](auto const& one) { return now >= one.second; });
    if (member_ == Member::out && now >= joins_at_) {
        member_ = Member::joins;
        actions_.push_back({Kind::join});
    }
    if (settled(now))
        balance(now);
    if (now >= gives_up_at_)
        give_up_newest(held_.size(), now);
    for (auto& held : held_) {
        if (now < held.stop_by)
            continue;
        if (held.state == Held::State::stops)
            advance(held, Held::State::terminated, now + patience, Kind::terminate);
        else
            advance(held, Held::State::lost, Instant::max(), Kind::abandon);
    }
    return std::exchange(actions_, {});
}

void ShardMachine::balance(Instant now)
{
    auto const most = share();
    auto const owned = this->owned().size();
    auto const held = owned + pending_;
    if (held > most) {
        cancel_claims(held - most);
        if (owned > most)
            give_up_newest(owned - most, now);
    } else if (auto const wanted = share(true); held < wanted && now >= claims_from_) {
        auto const begins = std::min(wanted - held, most_claims - pending_);
        actions_.insert(actions_.end(), begins, {Kind::claim});
        pending_ += begins;
    }
}

void ShardMachine::cancel_claims(std::size_t count)
{
    auto const cancelled = std::min(count, pending_);
    actions_.insert(actions_.end(), cancelled, {Kind::cancel});
    pending_ -= cancelled;
}

void ShardMachine::give_up_newest(std::size_t count, Instant now)
{
    for (auto left = held_.size(); left > 0 && count > 0; --left) {
        auto const held = held_.begin() + static_cast<std::ptrdiff_t>(left - 1);
        if (!held->counts())
            continue;
        --count;
        if (held->state == Held::State::finished)
            release(held);
        else
            advance(*held, Held::State::stops, now + terms_.drain, Kind::stop);
    }
}

void ShardMachine::advance(Held& held, Held::State state, Instant stop_by, Kind action)
{
    held.state = state;
    held.stop_by = stop_by;
    actions_.push_back({action, held.shard});
}

void ShardMachine::release(std::vector<Held>::iterator held)
{
    actions_.push_back({Kind::release, held->shard});
    held_.erase(held);
}

Instant ShardMachine::wake_at() const
{
    auto wakes = Instant::max();
    auto const consider = [&](Instant when) {
        if (when > now_)
            wakes = std::min(wakes, when);
    };
    for (auto const when : {settled_at_, gives_up_at_, joins_at_, claims_from_})
        consider(when);
    for (auto const& [number, until] : vanished_)
        consider(until);
    for (auto const& held : held_)
        consider(held.stop_by);
    return wakes;
}

} // namespace tenure::engine
