// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redlock_under_attack.hpp"

#include "stranger.hpp"

#include "harness/auditor.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;

namespace
{

constexpr std::size_t servers = 5;
constexpr std::size_t majority = servers / 2 + 1;

test::RedisServerOptions server_options(WallClock const* clock)
{
    test::RedisServerOptions options;
    options.config = {"appendonly yes", "appendfsync everysec", "auto-aof-rewrite-percentage 0"};
    if (clock != nullptr)
        options.environment = clock->environment();
    return options;
}

std::string number_of(std::size_t count)
{
    return std::to_string(count) + " of " + std::to_string(servers) + " servers ";
}

/** The value that as many as are needed have at least. */
template <class T>
T reached_by_majority(std::vector<T> values)
{
    std::ranges::sort(values, std::greater{});
    return values[majority - 1];
}

} // namespace

RedlockUnderAttack::RedlockUnderAttack(Arena const& arena)
    : arena_(arena)
    , clock_(directory_.file("wall-clock"))
{
    for (std::size_t i = 0; i < servers; ++i)
        nodes_.push_back(std::make_unique<Node>(server_options(i == 0 ? &clock_ : nullptr)));
}

std::string RedlockUnderAttack::url(std::size_t worker) const
{
    std::string url = "redlock://";
    for (auto const& node : nodes_)
        url += (node == nodes_.front() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(node->network.port(worker));
    return url;
}

// -- what is seen --

std::optional<std::vector<KeyContent>> RedlockUnderAttack::read(Node& node) const
try {
    if (!node.looking) {
        node.looking.emplace(node.server.port());
        node.looking->reply_limit(300ms);
    }
    return read_keys(*node.looking, arena_, all_cells(arena_), Fences::of_each_key);
} catch (std::exception const&) {
    node.looking.reset();
    return std::nullopt;
}

std::optional<std::vector<KeyLook>> RedlockUnderAttack::look()
{
    auto const offset = clock_.offset();
    auto const ahead = clock_.ahead_of_boottime();
    std::vector<std::vector<KeyContent>> answers;
    for (auto const& node : nodes_) {
        auto answer = read(*node);
        // a server that does not answer may be the one that completes a majority
        if (!answer)
            return std::nullopt;
        answers.push_back(std::move(*answer));
    }
    if (clock_.offset() != offset)
        return std::nullopt;
    std::vector<KeyLook> keys(arena_.cells());
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell) {
        std::map<std::string, std::vector<std::size_t>> owners;
        std::vector<std::int64_t> expiries(servers, 0);
        std::vector<std::uint64_t> tokens(servers, 0);
        for (std::size_t node = 0; node < servers; ++node) {
            auto const& content = answers[node][cell];
            if (!content.value)
                continue;
            owners[*content.value].push_back(node);
            auto const clock = node == 0 ? ahead : ahead - std::chrono::nanoseconds{offset}.count();
            expiries[node] = content.expires_at * 1'000'000 - clock;
            tokens[node] = content.fencing_token;
        }
        for (auto const& [owner, holding] : owners) {
            if (holding.size() < majority)
                continue;
            std::vector<std::int64_t> until;
            std::vector<std::uint64_t> accepted;
            for (auto const node : holding) {
                until.push_back(expiries[node]);
                accepted.push_back(tokens[node]);
                keys[cell].endless = keys[cell].endless || answers[node][cell].expires_at == -1;
            }
            keys[cell].held = true;
            keys[cell].expiry = reached_by_majority(std::move(until));
            for (auto const node : holding)
                keys[cell].detail += "; server " + std::to_string(node) + " until " +
                                     std::to_string(expiries[node] / 1'000'000) + " ms, token " +
                                     std::to_string(tokens[node]);
            keys[cell].known_tokens = accepted;
            keys[cell].fencing_token = reached_by_majority(std::move(accepted));
        }
    }
    return keys;
}

std::vector<std::string> RedlockUnderAttack::endless_keys()
{
    std::vector<std::string> endless;
    for (auto const& node : nodes_) {
        auto client = node->server.client();
        for (auto const& key : endless_keys_of(client))
            endless.push_back(node->server.url() + ": " + key);
    }
    return endless;
}

// -- what is done --

RedlockUnderAttack::Nodes RedlockUnderAttack::some(Random& random, std::size_t count)
{
    Nodes chosen;
    auto const first = random.below(servers);
    for (std::size_t i = 0; i < count; ++i)
        chosen.push_back(nodes_[(first + i) % servers].get());
    return chosen;
}

Disturbance RedlockUnderAttack::undivided(Disturbance disturbance) const
{
    auto const settle = arena_.ttl * 11 / 10;
    disturbance.strike = [settle, strike = std::move(disturbance.strike)](Attack& attack) {
        auto const from = attack.ledger.last_of_a_process() + std::chrono::nanoseconds{settle}.count();
        while (test::boottime_ns() < from)
            attack.wait(10ms);
        return strike(attack);
    };
    return disturbance;
}

void RedlockUnderAttack::recover(Attack& attack) const
{
    attack.wait(arena_.ttl * 13 / 10);
}

bool RedlockUnderAttack::stop(Attack& attack, std::size_t count, bool briefly)
{
    auto const ttl = arena_.ttl;
    auto const name = number_of(count) + (briefly ? "stopped for less than G/3" : "stopped for more than G");
    FaultRecord fault = harmless(name);
    fault.harmless = briefly || count < majority;
    {
        FaultScope const scope{attack.ledger, fault};
        auto const chosen = some(attack.random, count);
        for (auto* const node : chosen)
            node->server.pause();
        attack.wait(
            briefly ? attack.random.between(ttl / 12, ttl / 4) : attack.random.between(ttl * 11 / 10, ttl * 9 / 5));
        for (auto* const node : chosen)
            node->server.resume();
    }
    recover(attack);
    return true;
}

bool RedlockUnderAttack::tokens_are_ahead() const
{
    return test::boottime_ns() < tokens_ahead_until_;
}

bool RedlockUnderAttack::restart(Attack& attack, std::size_t count, bool with_data)
{
    if (tokens_are_ahead())
        return false;
    {
        FaultScope const scope{
            attack.ledger, harmless(
                               number_of(count) + (with_data ? "killed, restarted with their data"
                                                             : "killed, restarted without data after a ttl"))};
        auto const chosen = some(attack.random, count);
        for (auto* const node : chosen) {
            node->server.kill();
            if (!with_data)
                std::filesystem::remove_all(node->server.directory() + "/appendonlydir");
        }
        // the append-only file is synced every second; the writes that it has lost concern leases that end within a ttl
        attack.wait(arena_.ttl * 11 / 10);
        for (auto* const node : chosen)
            node->server.start();
    }
    recover(attack);
    return true;
}

bool RedlockUnderAttack::jump(Attack& attack)
{
    bool const ahead = clock_.offset() == 0s;
    {
        FaultScope const scope{
            attack.ledger, harmless(ahead ? "one server's wall clock +60 s" : "one server's wall clock -60 s")};
        tokens_ahead_until_ = ahead ? std::numeric_limits<std::int64_t>::max()
                                    : test::boottime_ns() + std::chrono::nanoseconds{clock_jump}.count();
        clock_.set(ahead ? clock_jump : 0s);
        // the server reads its clock at least ten times a second
        attack.wait(200ms);
    }
    recover(attack);
    return true;
}

Disturbance RedlockUnderAttack::on_some(std::string name, std::vector<std::string> command)
{
    return {name, 1, [this, name, command = std::move(command)](Attack& attack) {
                FaultScope const scope{attack.ledger, harmless(name)};
                for (auto* const node : some(attack.random, 1 + attack.random.below(servers)))
                    if (auto const reply = node->server.client().send(command); reply.is_error())
                        throw std::runtime_error(name + ": " + reply.text);
                return true;
            }};
}

Disturbance RedlockUnderAttack::on_network(std::size_t kind)
{
    auto like = nodes_.front()->network.disturbances()[kind];
    return {like.name + ", one server", like.often, [this, kind](Attack& attack) {
                auto& network = some(attack.random, 1).front()->network;
                auto const done = network.disturbances()[kind].strike(attack);
                recover(attack);
                return done;
            }};
}

std::vector<Disturbance> RedlockUnderAttack::disturbances()
{
    std::vector<Disturbance> all{
        on_some("SCRIPT FLUSH", {"SCRIPT", "FLUSH"}),
        on_some("CLIENT KILL TYPE normal", {"CLIENT", "KILL", "TYPE", "normal"}),
        on_some("CLIENT KILL TYPE pubsub", {"CLIENT", "KILL", "TYPE", "pubsub"}),
        {"one server's wall clock jumps", 2, [this](Attack& attack) { return jump(attack); }},
        {"3 of 5 servers stopped", 2, [this](Attack& attack) { return stop(attack, majority, false); }},
        {"5 of 5 servers stopped briefly", 1, [this](Attack& attack) { return stop(attack, servers, true); }},
    };
    for (std::size_t count = 1; count < majority; ++count) {
        auto const add = [&](std::string const& what, unsigned often, std::function<bool(Attack&)> strike) {
            all.push_back(undivided({number_of(count) + what, often, std::move(strike)}));
        };
        add("stopped", 3, [this, count](Attack& attack) { return stop(attack, count, false); });
        add("restarted with data", 2, [this, count](Attack& attack) { return restart(attack, count, true); });
        add("restarted without data", 2, [this, count](Attack& attack) { return restart(attack, count, false); });
    }
    for (std::size_t kind = 0; kind < nodes_.front()->network.disturbances().size(); ++kind)
        all.push_back(undivided(on_network(kind)));
    return all;
}

} // namespace tenure::faults
