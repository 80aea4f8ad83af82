// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "sentinel_under_attack.hpp"

#include "redis_look.hpp"

#include "harness/auditor.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

namespace
{

constexpr std::size_t ways = 3;

test::SentinelGroupOptions group_options()
{
    test::SentinelGroupOptions options;
    // longer than a stop that may cost no lease, and longer than the stalls of a busy machine: a spontaneous failover
    // exempts nothing
    options.down_after = 2s;
    return options;
}

} // namespace

SentinelUnderAttack::SentinelUnderAttack(Arena const& arena)
    : arena_(arena)
    , group_(group_options())
{
    for (auto const& sentinel : group_.sentinels())
        networks_.push_back(std::make_unique<Network>(sentinel->port(), ways));
}

std::string SentinelUnderAttack::url(std::size_t worker) const
{
    std::string hosts;
    for (auto const& network : networks_)
        hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(network->port(worker)));
    return "redis+sentinel://" + hosts + "/" + test::SentinelGroup::master_name;
}

std::optional<std::vector<KeyLook>> SentinelUnderAttack::look()
try {
    if (in_doubt_)
        return std::nullopt;
    auto const at = master_.load();
    if (!looking_ || looking_at_ != at) {
        looking_.emplace(group_.server(at).port());
        looking_->reply_limit(5s);
        looking_at_ = at;
    }
    auto const contents = read_keys(*looking_, arena_, all_cells(arena_));
    if (!contents || in_doubt_ || master_ != at)
        return std::nullopt;
    std::vector<KeyLook> keys;
    for (auto const& content : *contents)
        keys.push_back(look_of(content, wall_clock_ahead()));
    return keys;
} catch (std::exception const&) {
    // killed or stopped: there is nothing to see
    looking_.reset();
    return std::nullopt;
}

std::vector<std::string> SentinelUnderAttack::endless_keys()
{
    auto client = master().client();
    return endless_keys_of(client);
}

bool SentinelUnderAttack::wait_until_whole(Attack& attack)
{
    auto const limit = boottime_ns() + std::chrono::nanoseconds{20s}.count();
    while (!group_.what_is_missing().empty()) {
        if (boottime_ns() > limit)
            return false;
        attack.wait(100ms);
    }
    return true;
}

test::RedisServer* SentinelUnderAttack::wait_for_master(Attack& attack, test::RedisServer const* except)
{
    auto const limit = boottime_ns() + std::chrono::nanoseconds{30s}.count();
    while (boottime_ns() < limit) {
        if (auto* const server = group_.agreed_master(except))
            return server;
        attack.wait(20ms);
    }
    return nullptr;
}

void SentinelUnderAttack::wait_until_replica(Attack& attack, test::RedisServer const& server)
{
    auto const limit = boottime_ns() + std::chrono::nanoseconds{30s}.count();
    std::string last_error;
    auto const is_replica = [&] {
        try {
            return server.client().info("role") == "slave";
        } catch (std::exception const& error) {
            last_error = error.what(); // a sentinel that changes the role of a server ends the connections there
            return false;
        }
    };
    while (!is_replica()) {
        if (boottime_ns() > limit)
            throw std::runtime_error(
                "the sentinels made no replica of the old master within 30 s" +
                (last_error.empty() ? "" : ": " + last_error));
        attack.wait(50ms);
    }
}

test::RedisServer& SentinelUnderAttack::some_replica(Random& random)
{
    auto const count = group_.servers().size();
    return group_.server((master_ + 1 + random.below(count - 1)) % count);
}

bool SentinelUnderAttack::fail_over(Attack& attack, Way way, std::string const& name)
{
    // each failover needs the replicas and the majority of sentinels, and time to come to rest
    if (attack.end < boottime_ns() + std::chrono::nanoseconds{15s}.count() || !wait_until_whole(attack))
        return false;
    auto& old_master = master();
    {
        FaultScope const fault{attack.ledger, forgetting(name)};
        in_doubt_ = true;
        if (way == Way::kill)
            old_master.kill();
        else if (way == Way::stop)
            old_master.pause();
        else
            group_.sentinel(attack.random.below(group_.sentinels().size()))
                .client()
                .call("SENTINEL", "FAILOVER", test::SentinelGroup::master_name);
        auto* const now = wait_for_master(attack, &old_master);
        if (now == nullptr)
            throw std::runtime_error(name + ": the sentinels put no other master in its place within 30 s");
        master_ = group_.index_of(now->port());
        in_doubt_ = false;
        // it comes back as a master, until the sentinels make a replica of it
        if (way == Way::kill)
            old_master.start();
        else if (way == Way::stop)
            old_master.resume();
        // clients that have not noticed the failover acquire there until the sentinels make it a replica, some seconds
        // later
        wait_until_replica(attack, old_master);
        // clients follow
        attack.wait(arena_.ttl / 2);
    }
    return true;
}

bool SentinelUnderAttack::stop_master_briefly(Attack& attack)
{
    FaultScope const fault{attack.ledger, harmless("master stopped for less than G/3")};
    master().pause();
    attack.wait(attack.random.between(arena_.ttl / 12, arena_.ttl / 4));
    master().resume();
    return true;
}

bool SentinelUnderAttack::lose_replica(Attack& attack, bool kill)
{
    FaultScope const fault{attack.ledger, harmless(kill ? "replica killed and restarted" : "replica stopped")};
    auto& replica = some_replica(attack.random);
    kill ? replica.kill() : replica.pause();
    attack.wait(attack.random.between(arena_.ttl, arena_.ttl * 2));
    kill ? replica.start() : replica.resume();
    return true;
}

bool SentinelUnderAttack::lose_sentinel(Attack& attack, bool kill)
{
    FaultScope const fault{attack.ledger, harmless(kill ? "sentinel killed and restarted" : "sentinel stopped")};
    auto& sentinel = group_.sentinel(attack.random.below(group_.sentinels().size()));
    kill ? sentinel.kill() : sentinel.pause();
    attack.wait(attack.random.between(arena_.ttl, arena_.ttl * 2));
    kill ? sentinel.start() : sentinel.resume();
    return true;
}

bool SentinelUnderAttack::lose_all_sentinels(Attack& attack)
{
    // connected clients continue
    FaultScope const fault{attack.ledger, harmless("all sentinels killed and restarted")};
    for (auto const& sentinel : group_.sentinels())
        sentinel->kill();
    attack.wait(attack.random.between(arena_.ttl, arena_.ttl * 3));
    for (auto const& sentinel : group_.sentinels())
        sentinel->start();
    return true;
}

Disturbance SentinelUnderAttack::at_once(std::string const& name, std::vector<std::string> command)
{
    return {name, 1, [this, name, command = std::move(command)](Attack& attack) {
                FaultScope const fault{attack.ledger, harmless(name)};
                if (auto const reply = master().client().send(command); reply.is_error())
                    throw std::runtime_error(name + ": " + reply.text);
                return true;
            }};
}

std::vector<Disturbance> SentinelUnderAttack::disturbances()
{
    auto const fails_over = [this](std::string const& name, unsigned often, Way way) {
        return Disturbance{name, often, [this, way, name](Attack& attack) { return fail_over(attack, way, name); }};
    };
    std::vector<Disturbance> all{
        fails_over("master killed, failover", 4, Way::kill),
        fails_over("master stopped, failover, and it comes back", 3, Way::stop),
        fails_over("SENTINEL FAILOVER", 3, Way::ask),
        {"master stopped for less than G/3", 2, [this](Attack& attack) { return stop_master_briefly(attack); }},
        {"replica killed and restarted", 1, [this](Attack& attack) { return lose_replica(attack, true); }},
        {"replica stopped", 1, [this](Attack& attack) { return lose_replica(attack, false); }},
        {"sentinel killed and restarted", 1, [this](Attack& attack) { return lose_sentinel(attack, true); }},
        {"sentinel stopped", 1, [this](Attack& attack) { return lose_sentinel(attack, false); }},
        {"all sentinels killed and restarted", 1, [this](Attack& attack) { return lose_all_sentinels(attack); }},
        at_once("SCRIPT FLUSH", {"SCRIPT", "FLUSH"}),
        at_once("CLIENT KILL TYPE pubsub", {"CLIENT", "KILL", "TYPE", "pubsub"})};
    // faults on the ways to one sentinel only: with faults for all three, they would be most of the deck
    for (auto& more : networks_.front()->disturbances())
        all.push_back(std::move(more));
    return all;
}

} // namespace tenure::faults
