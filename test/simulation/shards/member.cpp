// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "member.hpp"

#include <algorithm>
#include <set>

namespace tenure::simulation
{

using namespace std::chrono_literals;
using Kind = engine::ShardMachine::Action::Kind;

ShardMember::ShardMember(ShardSurroundings& around, unsigned id, unsigned weight, bool hangs)
    : around_(around)
    , id_(id)
    , weight_(weight)
    , hangs_(hangs)
    , machine_(around.terms)
{
}

// -- time and requests --

void ShardMember::later(Clock::duration delay, std::function<void()> what)
{
    around_.timeline.at(now() + delay, [this, what = std::move(what)] {
        if (killed_)
            return;
        if (now() < stopped_until_)
            missed_.push_back(what);
        else
            what();
    });
}

void ShardMember::stop(Instant until)
{
    stopped_until_ = until;
    around_.timeline.at(until, [this] {
        while (!missed_.empty() && now() >= stopped_until_ && !killed_) {
            auto const what = std::move(missed_.front());
            missed_.pop_front();
            what();
        }
        around_.members.serve();
        around_.shards.serve();
    });
}

Clock::duration ShardMember::latency()
{
    return std::chrono::microseconds(around_.random.between(200, 8000));
}

void ShardMember::ask(std::function<void()> at_store, std::function<void()> unanswered)
{
    around_.timeline.at(now() + latency(), [this, at_store = std::move(at_store), unanswered = std::move(unanswered)] {
        if (now() >= around_.outage_until)
            at_store();
        else
            later(around_.terms.ttl / 10, unanswered);
    });
}

Instant ShardMember::valid_until(Instant sent) const
{
    // the time rule of the engine, and its notice
    return sent + around_.terms.ttl * 89 / 100 - 10ms;
}

// -- the member --

void ShardMember::start()
{
    later(0ms, [this] {
        perform(machine_.tick(now()));
        read();
        renew();
    });
}

void ShardMember::leave()
{
    leaves_ = true;
    later(0ms, [this] { perform(machine_.leave(false, now())); });
}

void ShardMember::read()
{
    // an answer may take long
    read_once(around_.answers_slowly && around_.random.chance(1000) ? around_.terms.refresh * 2 : 0ms);
    if (!ended_)
        later(around_.terms.refresh * (80 + around_.random.below(41)) / 100, [this] { read(); });
}

void ShardMember::read_once(Clock::duration slow)
{
    ask(
        [this, slow, asked = now()] {
            later(latency() + slow, [this, asked, taken = around_.members.taken()] {
                if (now() >= blind_until_ && asked >= read_)
                    answered(asked, taken);
            });
        },
        [] {});
}

void ShardMember::answered(Instant asked, std::vector<Number> const& taken)
{
    read_ = asked;
    if (stale_)
        settled_at_ = std::max(settled_at_, now() + around_.terms.settle);
    stale_ = false;
    for (auto const number : live_)
        if (!std::ranges::binary_search(taken, number))
            vanished_[number] = now();
    std::erase_if(vanished_, [&](auto const& one) { return std::ranges::binary_search(taken, one.first); });
    live_ = taken;
    perform(machine_.viewed(taken, now()));
    check_stale(asked);
}

void ShardMember::hint()
{
    later(latency(), [this] { read_once(0ms); });
}

void ShardMember::check_stale(Instant asked)
{
    later(asked + 3 * around_.terms.refresh - now(), [this, asked] {
        if (read_ != asked || stale_)
            return;
        stale_ = true;
        around_.count("stale views");
        perform(machine_.view_stale(now()));
    });
}

// -- leases --

void ShardMember::claim(Pool& pool, Id id, Instant asked)
{
    ask(
        [this, &pool, id, asked] {
            auto const present = [this] {
                return !killed_ && now() >= stopped_until_ && now() >= around_.outage_until;
            };
            pool.claim(id, present, [this, &pool, id, asked](Number number) {
                // a grant counts from its last claim, which waiters repeat
                auto const since = std::max(asked, now() - 20ms);
                arriving_.insert(id);
                reply([this, &pool, id, number, since] { got(pool, id, number, since); });
            });
        },
        [this, &pool, id] { claim(pool, id, now()); });
}

void ShardMember::got(Pool& pool, Id id, Number number, Instant asked)
{
    bool const member = &pool == &around_.members;
    bool const wanted = std::erase(member ? member_claims_ : shard_claims_, id) > 0;
    // a grant wins over a late cancellation
    bool const wins = winning_.erase(id) > 0;
    arriving_.erase(id);
    if ((!wanted && !wins) || now() >= valid_until(asked)) {
        // cancelled, or too late: the engine gives it back
        release(pool, id);
        if (wanted && !member)
            claim_shard();
        else if (wanted)
            claim_member();
        return;
    }
    leases_[id] = {id, valid_until(asked)};
    watch(id);
    if (member) {
        numbers_[number] = id;
        if (!member_claims_.empty())
            return;
        std::vector<Number> numbers;
        for (auto const& one : numbers_)
            numbers.push_back(one.first);
        settled_at_ = now() + around_.terms.settle;
        membership_lost_at_ = Instant::max();
        perform(machine_.joined(numbers, now()));
        if (lost_while_joining_)
            membership_lost();
    } else {
        granted_ = id;
        auto const actions = machine_.granted(number, !wanted, now());
        perform(actions);
    }
}

void ShardMember::claim_member()
{
    member_claims_.push_back(++around_.last_id);
    claim(around_.members, around_.last_id, now());
}

void ShardMember::claim_shard()
{
    auto const id = ++around_.last_id;
    shard_claims_.push_back(id);
    if (now() < around_.refuses_until)
        reply([this, id] {
            if (std::erase(shard_claims_, id) > 0)
                perform(machine_.claim_failed(now()));
        });
    else
        claim(around_.shards, id, now());
}

void ShardMember::renew()
{
    if (ended_)
        return;
    bool const outage = now() < around_.outage_until;
    for (auto const& held : leases_)
        if (held.second.renews)
            ask(
                [this, id = held.first, sent = now()] {
                    bool const kept = around_.members.renew(id) || around_.shards.renew(id);
                    reply([this, id, sent, kept] {
                        auto const lease = leases_.find(id);
                        if (lease == leases_.end())
                            return;
                        if (!kept) {
                            lease_lost(id);
                            return;
                        }
                        lease->second.valid_until = valid_until(sent);
                        watch(id);
                    });
                },
                [] {});
    later(outage ? around_.terms.ttl / 10 : around_.terms.ttl / 3, [this] { renew(); });
}

void ShardMember::watch(Id id)
{
    auto const until = leases_.at(id).valid_until;
    later(until - now(), [this, id, until] {
        if (auto const lease = leases_.find(id); lease != leases_.end() && lease->second.valid_until <= until)
            lease_lost(id);
    });
}

void ShardMember::lease_lost(Id id)
{
    leases_.erase(id);
    if (std::ranges::any_of(numbers_, [id](auto const& one) { return one.second == id; })) {
        // a run that still joins learns it once it has all numbers
        lost_while_joining_ = !member_claims_.empty();
        if (!lost_while_joining_)
            membership_lost();
        return;
    }
    auto const shard = std::ranges::find_if(shards_, [id](auto const& one) { return one.second == id; });
    if (shard == shards_.end())
        return;
    auto const number = shard->first;
    shards_.erase(shard);
    std::erase(owned_, number);
    for (auto [work, last] = works_.equal_range(number); work != last; ++work)
        if (work->second.id == id) {
            work->second.lease_lost = true;
            end_work(number, std::chrono::milliseconds(around_.random.below(20)));
        }
    perform(machine_.lost(number, now()));
}

void ShardMember::membership_lost()
{
    for (auto const& [number, id] : std::exchange(numbers_, {}))
        release(around_.members, id);
    membership_lost_at_ = now();
    perform(machine_.membership_lost(now()));
}

void ShardMember::release(Pool& pool, Id id)
{
    leases_.erase(id);
    ask([&pool, id] { pool.release(id); }, [this, &pool, id] { release(pool, id); });
}

// -- works --

bool ShardMember::works_validly(Number shard) const
{
    auto const [first, last] = works_.equal_range(shard);
    return std::any_of(first, last, [&](auto const& work) {
        auto const lease = leases_.find(work.second.id);
        return lease != leases_.end() && now() < lease->second.valid_until;
    });
}

bool ShardMember::works(Number shard) const
{
    return works_.contains(shard);
}

std::size_t ShardMember::hung() const
{
    return hangs_ ? works_.size() - static_cast<std::size_t>(std::ranges::count_if(
                                        owned_, [&](Number shard) { return works_.contains(shard); }))
                  : 0;
}

void ShardMember::end_work(Number shard, Clock::duration after)
{
    if (hangs_)
        return;
    auto const work = works_.find(shard);
    if (work != works_.end())
        later(after, [this, shard, id = work->second.id] { end_work_now(shard, id); });
}

void ShardMember::end_work_now(Number shard, Id id)
{
    auto const [first, last] = works_.equal_range(shard);
    auto const work = std::find_if(first, last, [id](auto const& one) { return one.second.id == id; });
    if (work == last)
        return;
    works_.erase(work);
    perform(machine_.work_ended(shard, now()));
}

// -- what the machine says --

std::size_t ShardMember::share(bool with_vanished) const
{
    std::set<Number> all(live_.begin(), live_.end());
    for (auto const& one : numbers_)
        all.insert(one.first);
    if (with_vanished)
        for (auto const& [number, since] : vanished_)
            if (now() < since + around_.terms.pause)
                all.insert(number);
    std::size_t share = 0;
    std::size_t rank = 0;
    for (auto const number : all) {
        if (numbers_.contains(number))
            share += around_.terms.shards / all.size() + (rank < around_.terms.shards % all.size() ? 1 : 0);
        ++rank;
    }
    return share;
}

bool ShardMember::may_change() const
{
    return !stale_ && numbers_.size() == weight_ && now() >= settled_at_;
}

void ShardMember::perform(engine::ShardMachine::Actions const& actions)
{
    bool const quits = std::ranges::any_of(actions, [](auto const& one) { return one.kind == Kind::quit; });
    if (quits && actions.front().kind != Kind::quit)
        around_.violation("rule 10: the membership is given back first");
    bool const leaving = leaves_ || quits || now() - around_.terms.ttl >= membership_lost_at_;
    for (auto const action : actions)
        perform(action, leaving);
    ended_ = machine_.over();
    if (ended_ && (!works_.empty() || !shards_.empty()))
        around_.violation("rule 10: the end comes last");
    auto const wakes = machine_.wake_at();
    if (wakes != Instant::max())
        later(wakes - now(), [this, tick = ++ticks_] {
            if (tick == ticks_)
                perform(machine_.tick(now()));
        });
}

void ShardMember::perform(engine::ShardMachine::Action action, bool leaving)
{
    auto const shard = action.shard;
    auto const demand = [&](bool holds, char const* rule) {
        if (!holds)
            around_.violation(rule);
    };
    switch (action.kind) {
    case Kind::join:
        numbers_.clear();
        lost_while_joining_ = false;
        for (unsigned number = 0; number < weight_; ++number)
            claim_member();
        break;
    case Kind::quit:
        for (auto const& [number, id] : std::exchange(numbers_, {}))
            release(around_.members, id);
        for (auto const id : std::exchange(member_claims_, {}))
            release(around_.members, id);
        break;
    case Kind::claim:
        demand(may_change(), "rule 2: no claim with a stale view, without membership or before it has settled");
        claim_shard();
        demand(owned_.size() + shard_claims_.size() <= share(true), "rule 4: no claim above the share");
        demand(shard_claims_.size() <= 32, "rule 4: at most 32 claims at a time");
        break;
    case Kind::cancel:
        demand(!shard_claims_.empty(), "rule 3: only a pending claim is cancelled");
        if (!shard_claims_.empty()) {
            if (arriving_.contains(shard_claims_.back()))
                winning_.insert(shard_claims_.back());
            else
                release(around_.shards, shard_claims_.back());
            shard_claims_.pop_back();
        }
        break;
    case Kind::give_back:
        release(around_.shards, granted_);
        break;
    case Kind::begin:
        demand(!works(shard), "rule 5: no two works of one shard in a process");
        demand(owned_.size() < share(false), "rule 6: no work begins above the share");
        around_.begins(shard, id_);
        shards_[shard] = granted_;
        owned_.push_back(shard);
        works_.emplace(shard, Work{granted_, {}, false, false});
        if (!hangs_ && around_.random.chance(300))
            end_work(shard, 500ms);
        break;
    case Kind::stop: {
        demand(leaving || may_change(), "rule 2: no shard is given up with a stale view or before it has settled");
        demand(!owned_.empty() && owned_.back() == shard, "rule 3: the newest shard is given up");
        std::erase(owned_, shard);
        auto const work = works_.find(shard);
        demand(work != works_.end() && !work->second.stopped_at, "rule 7: work is stopped once");
        if (work == works_.end())
            break;
        work->second.stopped_at = now();
        later(around_.terms.drain + 50ms, [this, shard, id = work->second.id] {
            auto const [first, last] = works_.equal_range(shard);
            if (std::any_of(first, last, [id](auto const& one) {
                    return one.second.id == id && !one.second.lease_lost && !one.second.terminated;
                }))
                around_.violation("rule 8: the drain is over");
        });
        if (around_.random.chance(8000))
            end_work(shard, around_.terms.drain * around_.random.below(101) / 100);
        break;
    }
    case Kind::terminate: {
        auto const work = works_.find(shard);
        demand(
            work != works_.end() && work->second.stopped_at && now() >= *work->second.stopped_at + around_.terms.drain,
            "rule 8: terminal after the drain");
        if (work == works_.end())
            break;
        work->second.terminated = true;
        end_work(shard, std::chrono::milliseconds(around_.random.below(20)));
        break;
    }
    case Kind::abandon:
        demand(works(shard), "rule 8: only a shard with work is abandoned");
        if (auto const held = shards_.extract(shard); !held.empty())
            leases_.erase(held.mapped());
        break;
    case Kind::release:
        demand(!works(shard), "rule 7: a shard is released after the end of its work");
        std::erase(owned_, shard);
        if (auto const held = shards_.extract(shard); !held.empty())
            release(around_.shards, held.mapped());
        break;
    }
}

} // namespace tenure::simulation
