// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "checker.hpp"

#include "world.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace tenure::simulation
{

namespace
{

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// a token may fire so much later than it should
constexpr Ns lateness = 20 * millisecond;
/// a renewal that has waited this long for its turn on a connection is dropped
constexpr Ns renewal_wait = 101 * millisecond;
/// the time rule, written down a second time: an hundredth for drift, and ten milliseconds
Instant usable_until(Instant since, Ns ttl)
{
    return since + nanoseconds(ttl - ttl / 100 - 10 * millisecond);
}

} // namespace

void Checker::begin()
{
    violation_ = {};
    holdings_.clear();
    duties_.clear();
    justified_.clear();
    robbed_.clear();
    last_fence_ = {};
    fence_lost_ = {};
    waiting_ = {};
    unknown_scripts_.clear();
    slowed_ = {};
    next_sweep_ = 0;
    free_since_ = {};
    rests_until_ = {};
    robberies_ = {};
    grants = losses = 0;
}

void Checker::violate(Rule rule, std::string text)
{
    if (violated())
        return;
    violation_ = {rule, world_.now(), std::move(text)};
}

// -- what the store does --

void Checker::granted(KeyId key, std::uint64_t fence)
{
    if (fence <= last_fence_[key])
        violate(
            Rule::s10, "key " + std::to_string(key) + " was granted with fencing token " + std::to_string(fence) +
                           " after " + std::to_string(last_fence_[key]));
    last_fence_[key] = fence;
    fence_lost_[key] = false;
}

void Checker::fence_lost(KeyId key, Ns store_micros)
{
    // the one case in which the order may break: the token is gone while the store's clock stands behind it
    fence_lost_[key] = true;
    if (std::cmp_greater(last_fence_[key], store_micros))
        last_fence_[key] = 0;
}

void Checker::clock_jumped(Ns store_micros)
{
    for (KeyId key = 0; key < key_count; ++key)
        if (fence_lost_[key])
            fence_lost(key, store_micros);
}

void Checker::robbed(KeyId key, OwnerId owner)
{
    rests_until_[key] = 0;
    ++robberies_[key];
    robbed_.emplace_back(key, owner);
}

void Checker::holds_again(KeyId key, OwnerId owner)
{
    if (!robbed_.empty())
        std::erase(robbed_, std::pair(key, owner));
}

void Checker::freed(KeyId key, OwnerId by)
{
    violate(
        Rule::s7,
        "key " + std::to_string(key) + " was freed by owner " + std::to_string(by % 10'000) + " and bore another");
}

void Checker::rests(KeyId key, OwnerId owner)
{
    if (!justified_[owner].handed_out)
        violate(
            Rule::s9, "key " + std::to_string(key) + " rests after owner " + std::to_string(owner % 10'000) +
                          ", whose claim no user was given");
}

// -- what the library does --

void Checker::asked(OwnerId owner)
{
    justified_[owner].last_asked = world_.now();
}

void Checker::asks(Process& process, Message const& message)
{
    asked(message.owner);
    if (!process.alive())
        violate(Rule::s13, "a dead process asks the store");
    if (message.kind == Message::Kind::claim) {
        claims(process, message);
    } else if (message.kind == Message::Kind::renew) {
        if (auto const& over = justified_[message.owner]; over.released || over.fired)
            violate(
                Rule::s8,
                std::string("a renewal is written after ") + (over.released ? "the release began" : "the token fired"));
    }
    if ((message.kind == Message::Kind::claim || message.kind == Message::Kind::renew) &&
        (message.ttl <= 0 || message.ttl > longest_ttl()))
        violate(Rule::s13, "a claim without a proper ttl");
}

void Checker::justify(OwnerId owner, Instant since, Ns ttl, std::uint64_t token)
{
    auto& justified = justified_[owner];
    justified.until = std::max(justified.until, usable_until(since, ttl));
    justified.delivered = world_.now();
    if (std::ranges::find(justified.tokens, token) == justified.tokens.end()) {
        std::ranges::rotate(justified.tokens, justified.tokens.begin() + 1);
        justified.tokens.back() = token;
    }
}

void Checker::answered(Process& process, Message const& message, Instant since)
{
    using Answer = Message::Answer;
    if (message.answer == Answer::granted)
        justify(message.owner, since, message.ttl, message.token);
    else if (message.answer == Answer::renewed)
        justify(message.owner, since, message.ttl, justified_[message.owner].tokens.back());
    told(process, message);
}

void Checker::told(Process& process, Message const& message)
{
    using Answer = Message::Answer;
    auto& justified = justified_[message.owner];
    justified.last_asked = world_.now();
    if (message.kind == Message::Kind::claim)
        claim_ended(process, message.range);
    if (message.answer == Answer::busy)
        look_at_busy(message);
    if (message.answer == Answer::released) {
        // an owner may have had several keys
        bool const named_another = std::exchange(justified.named_another, false);
        if (message.kind == Message::Kind::release && named_another && !message.named_another)
            violate(Rule::l4, "a release named a waiter of another process, and its own may claim at once");
    }
    // a turn is passed on, or a key of its own is free
    if (message.answer == Answer::granted || (message.answer == Answer::released && !message.named_another))
        need_not_hold_back(waiting(process, message.range));
    if (message.answer == Answer::granted) {
        justified.granted = justified.granted == 0 ? world_.now() : justified.granted;
    } else if (message.kind == Message::Kind::renew && message.answer == Answer::not_owner) {
        for (auto* holding : holdings_)
            if (holding->owner == message.owner && !holding->released && !holding->fired)
                duties_.push_back(
                    {Rule::s5, process.id(), process.life(), holding->range, 0, nullptr, holding, world_.now()});
    }
}

void Checker::look_at_busy(Message const& message)
{
    // an owner finds every key that it took before it asked, except requests that came to the store after they were
    // given up, and keys that a failover brought back
    if (world_.store.last_trouble >= message.asked || justified_[message.owner].handed_out)
        return;
    auto const only = key_of(message.range, message.index);
    for (auto id = key_of(message.range, 0); id < key_count && range_of(id) == message.range; ++id)
        if (auto const& key = world_.store.key(id); (!message.only || id == only) && world_.store.held(id) &&
                                                    key.owner == message.owner && !key.late &&
                                                    key.taken < message.asked)
            violate(
                Rule::s9, "owner " + std::to_string(message.owner % 10'000) + " holds key " + std::to_string(id) +
                              ", and is told that all keys are held by others");
}

void Checker::renewal_written(OwnerId owner, Ns when, bool after_release)
{
    auto const& justified = justified_[owner];
    bool const over = justified.released || justified.fired;
    // one that waits for its turn on a connection may leave although the lease ends meanwhile: the release is behind it
    if (after_release || (over && when > justified.over + renewal_wait))
        violate(Rule::s8, "a renewal leaves after its lease was over");
}

// -- what users do and see --

void Checker::wants(Process& process, RangeId range)
{
    auto& waits = waiting(process, range);
    waits.allowance += 2;
    need_not_hold_back(waits);
}

void Checker::claim_ended(Process& process, RangeId range)
{
    waiting(process, range).last_claim = world_.now();
}

void Checker::ended_waiting(Process& process, RangeId range)
{
    auto& waits = waiting(process, range);
    waits.last_claim = world_.now();
    need_not_hold_back(waits);
}

void Checker::must_end(Process& process, Worker& worker)
{
    if (worker.waiting())
        duties_.push_back(
            {Rule::s9, process.id(), process.life(), worker.range(), worker.turn(), &worker, nullptr, world_.now()});
}

void Checker::acquired(
    Process& process, Holding& holding, Lease const& lease, RangeId range, std::uint32_t index, std::uint32_t)
{
    ++grants;
    holding = {};
    holding.lease = &lease;
    holding.token = lease.token();
    holding.process = process.id();
    holding.range = range;
    holding.key = key_of(range, index);
    holding.owner = owner_id(lease.owner());
    holding.granted = world_.now();
    // the lease may end in this turn before its first check, and may have expired while its process was paused
    holding.until_world = process.world_at(lease.valid_until());
    auto const& settings = world_.plan().settings;
    if (index >= (range == RangeId::slots ? settings.slots : 1))
        violate(Rule::s11, "slot " + std::to_string(index) + " is none of the pool's");
    if (lease.key() != std::string(name_of(range)) + (range == RangeId::slots ? std::to_string(index) : ""))
        violate(Rule::s11, "the lease of slot " + std::to_string(index) + " is on the key " + lease.key());
    auto& justified = justified_[holding.owner];
    justified.handed_out = true;
    holding.answered = justified.granted;
    // one that its process slept through may be older than what ended last
    bool const is_robbed = std::ranges::find(robbed_, std::pair(holding.key, holding.owner)) != robbed_.end();
    if (lease.valid() && !is_robbed && world_.now() < rests_until_[holding.key])
        violate(
            Rule::s15, "key " + std::to_string(holding.key) + " was granted " +
                           std::to_string((rests_until_[holding.key] - world_.now()) / millisecond) +
                           " ms before its quarantine, or the time for which it was to be kept, was over");
    if (auto wrong = world_.store.wrong_token(holding.key, holding.owner, token_of(lease), justified.tokens);
        !wrong.empty())
        violate(Rule::s10, std::move(wrong));
    // if its process did nothing else meanwhile, it is as fresh as the answer
    if (justified.delivered == world_.now() && justified.granted == world_.now() && !lease.valid() &&
        !process.stands_still())
        violate(Rule::s3, "a lease was granted of which nothing is left");
    holdings_.push_back(&holding);
}

void Checker::token_answered(Process& process, Holding& holding, error_code error)
{
    if (std::exchange(holding.told, true))
        violate(Rule::s6, "a token answered twice");
    holding.reason = holding.token.reason();
    holding.fired = is_loss(holding.reason);
    if (error || holding.reason == CancelReason::none)
        violate(Rule::s6, "a token answered that is not cancelled");
    if (auto& justified = justified_[holding.owner]; holding.fired && !justified.released) {
        justified.fired = true;
        justified.over = world_.now();
    }
    if (holding.fired && holding.released && !holding.fired_before_release)
        violate(Rule::s6, "a token tells of a loss after a clean release");
    if (!holding.fired && holding.fired_before_release)
        violate(Rule::s6, "a token that had told of a loss says that its lease was released");
    if (!holding.fired && !holding.released)
        violate(Rule::s6, "a token says that its lease was released, and it was not");
    if (holding.fired) {
        ++losses;
        judge_loss(process, holding);
    }
    if (holding.released)
        forget(holding);
}

void Checker::releases(Process& process, Holding& holding, bool fired_before)
{
    ends(holding, world_.now());
    holding.released = true;
    holding.fired_before_release = fired_before;
    auto& justified = justified_[holding.owner];
    justified.last_asked = world_.now();
    justified.over = justified.fired ? justified.over : world_.now();
    justified.released = true;
    if (holding.told)
        forget(holding);
    else
        duties_.push_back({Rule::s6, process.id(), process.life(), holding.range, 0, nullptr, &holding, world_.now()});
}

void Checker::detached(KeyId key, Ns until, std::uint32_t robberies)
{
    if (robberies_[key] == robberies)
        rests_until_[key] = std::max(rests_until_[key], until);
}

void Checker::ends(Holding const& holding, Ns when)
{
    if (holding.robbed || std::ranges::find(robbed_, std::pair(holding.key, holding.owner)) != robbed_.end())
        return;
    auto const end = std::min(when, holding.until_world);
    auto const rest = world_.store.rest_of(holding.key);
    // clocks differ by a hundredth at most
    rests_until_[holding.key] = std::max(rests_until_[holding.key], end + rest - rest / 100);
}

void Checker::forget(Holding& holding) noexcept
{
    // the leases of a dead process were not released: their validity continues
    if (holding.lease != nullptr && !holding.released)
        ends(holding, Scheduler::end_of_time);
    std::erase(holdings_, &holding);
    std::erase_if(duties_, [&](Duty const& duty) { return duty.holding == &holding; });
}

void Checker::dies(Process& process)
{
    std::erase_if(duties_, [&](Duty const& duty) { return duty.process == process.id(); });
}

// -- what must hold --

void Checker::look_at_validity(Holding& holding, Instant until)
{
    auto& process = world_.process(holding.process);
    auto const before = std::exchange(holding.seen_until, until);
    holding.until_world = process.world_at(until);
    if (until < before && !holding.resized)
        violate(Rule::s4, "valid_until moved back");
    if (until > justified_[holding.owner].until)
        violate(
            before == Instant::min() ? Rule::s3 : Rule::s4,
            "valid_until is " +
                std::to_string((until - justified_[holding.owner].until) / std::chrono::microseconds(1)) +
                " us later than any answer justifies");
    auto const notice = holding.lease->valid_until() - holding.lease->stop_at();
    auto const ttl =
        std::chrono::milliseconds(world_.plan().settings.ttl.at(static_cast<std::size_t>(holding.range)) / millisecond);
    if (!holding.resized && notice < std::min(std::max(ttl / 10, milliseconds(20)), ttl / 3))
        violate(Rule::s2, "the notice is too short");
}

void Checker::wake_at(Holding& holding)
{
    auto& process = world_.process(holding.process);
    if (auto const until = holding.lease->valid_until(); until != holding.seen_until) {
        look_at_validity(holding, until);
        holding.seen_version = 0;
    }
    auto const now = process.now();
    bool const valid = holding.lease->valid();
    if (holding.told && holding.token.reason() != holding.reason)
        violate(Rule::s6, "a token that had fired fired again, for another reason");
    if (valid && now >= holding.seen_until)
        violate(Rule::s1, "a lease is valid beyond valid_until");
    if (auto const version = world_.store.version(holding.key) + 1; version != holding.seen_version && valid) {
        holding.seen_version = version;
        holding.robbed =
            !robbed_.empty() && std::ranges::find(robbed_, std::pair(holding.key, holding.owner)) != robbed_.end();
        if (!holding.robbed) {
            if (world_.store.key(holding.key).owner != holding.owner)
                violate(
                    Rule::s1,
                    "a lease on key " + std::to_string(holding.key) + " is valid, and the store has another owner");
            else if (auto const end = world_.store.owned_until(holding.key); end <= holding.until_world)
                violate(
                    Rule::s2, "valid_until is " + std::to_string((holding.until_world - end) / microsecond) +
                                  " us after the store's own expiry, less the quarantine");
        }
    }
    if (!holding.fired && !process.stands_still() && process.last_trouble() + lateness < world_.now() &&
        now > holding.lease->stop_at() + nanoseconds(lateness))
        violate(Rule::s2, "a token has not fired 20 ms after valid_until less notice");
}

void Checker::look()
{
    std::array<Holding const*, key_count> holders{};
    for (auto* holding : holdings_) {
        if (holding->released)
            continue;
        wake_at(*holding);
        if (holding->robbed || !holding->lease->valid())
            continue;
        if (auto const* other = std::exchange(holders[holding->key], holding))
            violate(
                Rule::s1, "two leases on key " + std::to_string(holding->key) + " are valid: of processes " +
                              std::to_string(other->process) + " and " + std::to_string(holding->process));
    }
}

} // namespace tenure::simulation
