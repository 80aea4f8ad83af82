// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "cluster_under_attack.hpp"

#include "redis_look.hpp"

#include "harness/auditor.hpp"

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

test::RedisClusterOptions cluster_options()
{
    test::RedisClusterOptions options;
    // longer than the stalls of a busy machine: a spontaneous failover exempts nothing
    options.node_timeout = 2s;
    return options;
}

std::int64_t in(std::chrono::nanoseconds time)
{
    return boottime_ns() + time.count();
}

} // namespace

ClusterUnderAttack::ClusterUnderAttack(Arena const& arena)
    : arena_(arena)
    , cluster_(cluster_options())
{
    survey();
}

// -- what is seen --

void ClusterUnderAttack::survey()
{
    std::vector<std::size_t> servers;
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
        servers.push_back(cluster_.owner_of(arena_.key(cell)));
    std::lock_guard const lock{mutex_};
    servers_ = std::move(servers);
}

void ClusterUnderAttack::doubt()
{
    std::lock_guard const lock{mutex_};
    servers_.clear();
}

std::size_t ClusterUnderAttack::server_of(std::uint32_t cell) const
{
    std::lock_guard const lock{mutex_};
    return servers_.at(cell);
}

std::vector<std::uint32_t> ClusterUnderAttack::cells_of(std::size_t node) const
{
    std::vector<std::uint32_t> cells;
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
        if (server_of(cell) == node)
            cells.push_back(cell);
    return cells;
}

std::optional<std::vector<KeyLook>> ClusterUnderAttack::look()
{
    auto const servers = [this] {
        std::lock_guard const lock{mutex_};
        return servers_;
    };
    auto const at = servers();
    if (at.empty())
        return std::nullopt;
    std::vector<KeyLook> keys;
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
        try {
            auto found = looking_.find(at[cell]);
            if (found == looking_.end()) {
                found = looking_.emplace(at[cell], cluster_.port(at[cell])).first;
                found->second.reply_limit(5s);
            }
            auto const contents = read_keys(found->second, arena_, {cell});
            // MOVED or ASK: on its way
            if (!contents)
                return std::nullopt;
            keys.push_back(look_of(contents->front(), wall_clock_ahead()));
        } catch (std::exception const&) {
            // killed or stopped: there is nothing to see
            looking_.erase(at[cell]);
            return std::nullopt;
        }
    return servers() == at ? std::optional(std::move(keys)) : std::nullopt;
}

std::vector<std::string> ClusterUnderAttack::endless_keys()
{
    std::vector<std::string> endless;
    for (std::size_t node = 0; node < cluster_.size(); ++node) {
        auto client = cluster_.server(node).client();
        if (client.info("role") == "master")
            for (auto const& key : endless_keys_of(client))
                endless.push_back("node " + std::to_string(node) + ": " + key);
    }
    return endless;
}

// -- what is done --

bool ClusterUnderAttack::wait_until_whole(Attack& attack)
{
    for (auto const limit = in(20s); !cluster_.what_is_missing().empty(); attack.wait(100ms))
        if (boottime_ns() > limit)
            return false;
    survey();
    return true;
}

std::uint32_t ClusterUnderAttack::some_cell(Random& random) const
{
    return static_cast<std::uint32_t>(random.below(arena_.cells()));
}

std::optional<std::size_t> ClusterUnderAttack::replica_of(std::size_t node)
{
    auto const port = std::to_string(cluster_.port(node));
    for (std::size_t other = 0; other < cluster_.size(); ++other)
        if (other != node && cluster_.server(other).client().info("master_port") == port)
            return other;
    return std::nullopt;
}

bool ClusterUnderAttack::fail_over(Attack& attack, Loss loss, std::string const& name)
{
    // each failover needs the replica and the other masters, and time to come to rest
    if (attack.end < in(15s) || !wait_until_whole(attack))
        return false;
    auto const cell = some_cell(attack.random);
    auto const old_master = server_of(cell);
    auto const replica = replica_of(old_master);
    if (!replica)
        return false;
    // one that is asked for loses nothing: the old master answers no writes until the replica has them all
    auto const cells = cells_of(old_master);
    FaultScope const fault{attack.ledger, loss == Loss::ask ? disturbing(name, cells) : forgetting(name, cells)};
    doubt();
    auto& server = cluster_.server(old_master);
    if (loss == Loss::kill)
        server.kill();
    else if (loss == Loss::stop)
        server.pause();
    else
        cluster_.server(*replica).client().call("CLUSTER", "FAILOVER");
    for (auto const limit = in(30s); cluster_.owner_of(arena_.key(cell), *replica) != *replica; attack.wait(20ms))
        if (boottime_ns() > limit)
            throw std::runtime_error(name + ": the replica did not take over within 30 s");
    if (loss == Loss::kill)
        server.start();
    else if (loss == Loss::stop)
        server.resume();
    // clients follow, and the old one becomes a replica
    attack.wait(arena_.ttl / 2);
    static_cast<void>(wait_until_whole(attack));
    return true;
}

bool ClusterUnderAttack::stop_briefly(Attack& attack)
{
    FaultScope const fault{attack.ledger, harmless("master stopped for less than G/3")};
    auto& server = cluster_.server(server_of(some_cell(attack.random)));
    server.pause();
    attack.wait(attack.random.between(arena_.ttl / 12, arena_.ttl / 4));
    server.resume();
    return true;
}

bool ClusterUnderAttack::lose_replica(Attack& attack, bool kill)
{
    if (!wait_until_whole(attack))
        return false;
    auto const replica = replica_of(server_of(some_cell(attack.random)));
    if (!replica)
        return false;
    FaultScope const fault{attack.ledger, harmless(kill ? "replica killed and restarted" : "replica stopped")};
    auto& server = cluster_.server(*replica);
    kill ? server.kill() : server.pause();
    attack.wait(attack.random.between(arena_.ttl, arena_.ttl * 2));
    kill ? server.start() : server.resume();
    return true;
}

bool ClusterUnderAttack::move_slot(Attack& attack)
{
    if (attack.end < in(10s) || !wait_until_whole(attack))
        return false;
    auto const cell = some_cell(attack.random);
    auto const from = server_of(cell);
    // where there are few keys, all may be at one master by now
    std::vector<std::size_t> others;
    for (std::size_t node = 0; node < cluster_.size(); ++node)
        if (node != from && cluster_.server(node).client().info("role") == "master")
            others.push_back(node);
    if (others.empty())
        return false;
    auto const to = others[attack.random.below(others.size())];
    auto const slot = cluster_.slot_of(arena_.key(cell));
    FaultScope const fault{attack.ledger, harmless("hash slot moved to another master")};
    doubt();
    cluster_.begin_migration(slot, from, to);
    attack.wait(attack.random.between(0ms, arena_.ttl));
    cluster_.migrate_keys(slot, from, to);
    attack.wait(attack.random.between(0ms, arena_.ttl));
    cluster_.migrate_keys(slot, from, to);
    cluster_.end_migration(slot, from, to);
    return wait_until_whole(attack);
}

bool ClusterUnderAttack::forget_all(Attack& attack)
{
    auto const node = server_of(some_cell(attack.random));
    FaultScope const fault{attack.ledger, forgetting("FLUSHALL of one master", cells_of(node))};
    cluster_.server(node).client().call("FLUSHALL");
    return true;
}

Disturbance ClusterUnderAttack::at_once(std::string const& name, std::vector<std::string> command)
{
    return {name, 1, [this, name, command = std::move(command)](Attack& attack) {
                FaultScope const fault{attack.ledger, harmless(name)};
                auto client = cluster_.server(server_of(some_cell(attack.random))).client();
                if (auto const reply = client.send(command); reply.is_error())
                    throw std::runtime_error(name + ": " + reply.text);
                return true;
            }};
}

std::vector<Disturbance> ClusterUnderAttack::disturbances()
{
    auto const fails_over = [this](std::string const& name, unsigned often, Loss loss) {
        return Disturbance{name, often, [this, loss, name](Attack& attack) { return fail_over(attack, loss, name); }};
    };
    return {
        fails_over("master killed, failover", 3, Loss::kill),
        fails_over("master stopped, failover, and it comes back", 2, Loss::stop),
        fails_over("CLUSTER FAILOVER", 2, Loss::ask),
        {"hash slot moved to another master", 4, [this](Attack& attack) { return move_slot(attack); }},
        {"master stopped for less than G/3", 2, [this](Attack& attack) { return stop_briefly(attack); }},
        {"replica killed and restarted", 1, [this](Attack& attack) { return lose_replica(attack, true); }},
        {"replica stopped", 1, [this](Attack& attack) { return lose_replica(attack, false); }},
        {"FLUSHALL of one master", 1, [this](Attack& attack) { return forget_all(attack); }},
        at_once("SCRIPT FLUSH", {"SCRIPT", "FLUSH"}),
        at_once("CLIENT KILL TYPE normal", {"CLIENT", "KILL", "TYPE", "normal"}),
        at_once("CLIENT KILL TYPE pubsub", {"CLIENT", "KILL", "TYPE", "pubsub"})};
}

} // namespace tenure::faults
