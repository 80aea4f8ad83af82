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

bool contains(std::vector<ShardMachine::Number> const& numbers, ShardMachine::Number number)
{
    return std::ranges::find(numbers, number) != numbers.end();
}

} // namespace

// -- the member --

ShardMachine::Actions ShardMachine::begin(Instant now)
{
    joins_at_ = now;
    return decide({}, now);
}

ShardMachine::Actions ShardMachine::joined(std::vector<Number> numbers, Instant now)
{
    if (member_ != Member::joins)
        return decide({}, now);
    std::ranges::sort(numbers);
    numbers_ = std::move(numbers);
    member_ = Member::is;
    settled_at_ = now + terms_.settle;
    gives_up_at_ = Instant::max();
    failing_since_.reset();
    return decide({}, now);
}

ShardMachine::Actions ShardMachine::membership_lost(Instant now)
{
    Actions actions;
    if (member_ == Member::is) {
        numbers_.clear();
        cancel_claims(actions, pending_);
        gives_up_at_ = now + terms_.ttl;
        member_ = Member::joins;
        actions.push_back({Kind::join});
    }
    return decide(std::move(actions), now);
}

ShardMachine::Actions ShardMachine::viewed(std::span<Number const> live, Instant now)
{
    bool const was_stale = std::exchange(stale_, false);
    if (was_stale)
        settled_at_ = now + terms_.settle;
    auto const before = std::exchange(live_, std::vector(live.begin(), live.end()));
    for (auto const number : before)
        if (!contains(live_, number))
            vanished_.emplace_back(number, now);
    std::erase_if(vanished_, [&](auto const& one) { return contains(live_, one.first); });
    return decide({}, now);
}

ShardMachine::Actions ShardMachine::view_stale(Instant now)
{
    stale_ = true;
    return decide({}, now);
}

ShardMachine::Actions ShardMachine::leave(bool at_once, Instant now)
{
    Actions actions;
    if (member_ < Member::left)
        go(actions, now);
    member_ = std::max(member_, Member::left);
    for (auto& held : held_)
        if (at_once && held.state == Held::State::stops)
            held.stop_by = std::min(held.stop_by, now);
    return decide(std::move(actions), now);
}

void ShardMachine::go(Actions& actions, Instant now)
{
    if (member_ == Member::is || member_ == Member::joins)
        actions.push_back({Kind::quit});
    member_ = Member::out;
    numbers_.clear();
    gives_up_at_ = Instant::max();
    cancel_claims(actions, pending_);
    give_up_newest(actions, held_.size(), now);
}

std::vector<ShardMachine::Number> ShardMachine::members(bool with_vanished) const
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
    return all;
}

std::size_t ShardMachine::share_of(std::vector<Number> const& members) const
{
    if (numbers_.empty())
        return 0;
    auto const quotient = terms_.shards / members.size();
    auto const remainder = terms_.shards % members.size();
    std::size_t share = 0;
    for (auto const number : numbers_) {
        auto const rank = static_cast<std::size_t>(std::ranges::find(members, number) - members.begin());
        share += rank < remainder ? quotient + 1 : quotient;
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
    bool const ending = std::ranges::find(held_, shard, &Held::shard) != held_.end();
    bool const surplus = count_owned() >= share();
    Actions actions;
    if (ending)
        claims_from_ = now + terms_.refresh;
    if (ending || surplus) {
        actions.push_back({Kind::give_back, shard});
    } else {
        held_.push_back({shard});
        actions.push_back({Kind::begin, shard});
    }
    return decide(std::move(actions), now);
}

ShardMachine::Actions ShardMachine::claim_failed(Instant now)
{
    --pending_;
    claims_from_ = now + terms_.refresh;
    failing_since_ = failing_since_.value_or(now);
    Actions actions;
    if (member_ == Member::is && now - *failing_since_ >= terms_.ttl) {
        go(actions, now);
        failing_since_.reset();
        joins_at_ = now + terms_.ttl * (1 << std::min(backoffs_++, backoff_doublings));
    }
    return decide(std::move(actions), now);
}

ShardMachine::Actions ShardMachine::lost(Number shard, Instant now)
{
    auto const held = std::ranges::find(held_, shard, &Held::shard);
    if (held != held_.end()) {
        held->lost = true;
        held->stop_by = Instant::max();
        if (held->state == Held::State::finished)
            held_.erase(held);
    }
    return decide({}, now);
}

ShardMachine::Actions ShardMachine::work_ended(Number shard, Instant now)
{
    Actions actions;
    auto const held = std::ranges::find(held_, shard, &Held::shard);
    if (held != held_.end()) {
        if (held->counts()) {
            held->state = Held::State::finished;
        } else {
            if (!held->lost)
                actions.push_back({Kind::release, shard});
            held_.erase(held);
        }
    }
    return decide(std::move(actions), now);
}

std::size_t ShardMachine::count_owned() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(held_, &Held::counts));
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

ShardMachine::Actions ShardMachine::decide(Actions actions, Instant now)
{
    now_ = now;
    std::erase_if(vanished_, [&](auto const& one) { return now >= one.second + terms_.pause; });
    if (member_ == Member::out && now >= joins_at_) {
        member_ = Member::joins;
        joins_at_ = Instant::max();
        actions.push_back({Kind::join});
    }
    if (settled(now))
        balance(actions, now);
    if (now >= gives_up_at_) {
        gives_up_at_ = Instant::max();
        give_up_newest(actions, held_.size(), now);
    }
    for (auto& held : held_) {
        if (now < held.stop_by)
            continue;
        if (held.state == Held::State::stops) {
            held.state = Held::State::terminated;
            held.stop_by = now + patience;
            actions.push_back({Kind::terminate, held.shard});
        } else {
            held.lost = true;
            held.stop_by = Instant::max();
            actions.push_back({Kind::abandon, held.shard});
        }
    }
    if (member_ == Member::left && held_.empty()) {
        member_ = Member::ended;
        actions.push_back({Kind::end});
    }
    return actions;
}

void ShardMachine::balance(Actions& actions, Instant now)
{
    auto const share = share_of(members(false));
    auto const owned = count_owned();
    auto const held = owned + pending_;
    if (held > share) {
        cancel_claims(actions, held - share);
        if (owned > share)
            give_up_newest(actions, owned - share, now);
    } else {
        claim(actions, held, now);
    }
}

void ShardMachine::claim(Actions& actions, std::size_t held, Instant now)
{
    auto const wanted = share_of(members(true));
    if (held >= wanted || now < claims_from_)
        return;
    auto const begins = std::min(wanted - held, most_claims - pending_);
    actions.insert(actions.end(), begins, {Kind::claim});
    pending_ += begins;
}

void ShardMachine::cancel_claims(Actions& actions, std::size_t count)
{
    auto const cancelled = std::min(count, pending_);
    actions.insert(actions.end(), cancelled, {Kind::cancel});
    pending_ -= cancelled;
}

void ShardMachine::give_up_newest(Actions& actions, std::size_t count, Instant now)
{
    for (auto left = held_.size(); left > 0 && count > 0; --left) {
        auto const place = left - 1;
        auto& held = held_[place];
        if (!held.counts())
            continue;
        --count;
        if (held.state == Held::State::finished) {
            actions.push_back({Kind::release, held.shard});
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(place));
        } else {
            held.state = Held::State::stops;
            held.stop_by = now + terms_.drain;
            actions.push_back({Kind::stop, held.shard});
        }
    }
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
    for (auto const& [number, since] : vanished_)
        consider(since + terms_.pause);
    for (auto const& held : held_)
        consider(held.stop_by);
    return wakes;
}

} // namespace tenure::engine
