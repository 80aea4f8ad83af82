// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "consensus_under_attack.hpp"

#include "harness/auditor.hpp"

#include <chrono>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

namespace
{

/// how many proxies lead to a member
constexpr std::size_t ways = 3;

} // namespace

ConsensusUnderAttack::ConsensusUnderAttack(Arena const& arena, std::string member)
    : arena_(arena)
    , member_(std::move(member))
{
}

void ConsensusUnderAttack::add_member(std::uint16_t port)
{
    networks_.push_back(std::make_unique<Network>(port, ways));
}

std::string ConsensusUnderAttack::hosts(std::size_t worker) const
{
    std::string hosts;
    for (auto const& network : networks_)
        hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(network->port(worker)));
    return hosts;
}

std::int64_t ConsensusUnderAttack::expiry_delay(std::int64_t now) const
{
    auto const left = election_ + 2 * arena_.ttl_ns() - now;
    return election_ != 0 && left > 0 ? left : 0;
}

void ConsensusUnderAttack::expect_election() noexcept
{
    election_ = boottime_ns();
}

void ConsensusUnderAttack::recover(Attack& attack)
{
    await_whole(attack);
    expect_election();
    attack.wait(arena_.ttl / 2);
}

std::vector<std::size_t> ConsensusUnderAttack::choose(Random& random, Whom whom)
{
    auto const size = networks_.size();
    auto const first = leader();
    auto const follower = first + 1 + random.below(size - 1);
    auto const count = whom == Whom::all ? size : whom == Whom::majority ? size / 2 + 1 : 1;
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < count; ++i)
        chosen.push_back((whom == Whom::follower ? follower : first + i) % size);
    return chosen;
}

Disturbance ConsensusUnderAttack::stopping(std::string const& whose, unsigned often, Whom whom, bool briefly)
{
    auto const name = whose + " stopped for " + (briefly ? "less than G/6" : "more than G");
    return {name, often, [this, name, whom, briefly](Attack& attack) {
                auto const ttl = arena_.ttl;
                bool const costs_nothing = briefly || whom == Whom::follower;
                FaultScope const scope{attack.ledger, costs_nothing ? harmless(name) : disturbing(name)};
                auto const chosen = choose(attack.random, whom);
                expect_election();
                for (auto const member : chosen)
                    pause(member);
                attack.wait(
                    briefly ? attack.random.between(ttl / 16, ttl / 6)
                            : attack.random.between(ttl * 11 / 10, ttl * 9 / 5));
                for (auto const member : chosen)
                    resume(member);
                if (!briefly)
                    recover(attack);
                return true;
            }};
}

Disturbance ConsensusUnderAttack::restarting(std::string const& whose, unsigned often, Whom whom)
{
    auto const name = whose + " killed and restarted";
    return {name, often, [this, name, whom](Attack& attack) {
                FaultScope const scope{attack.ledger, whom == Whom::follower ? harmless(name) : disturbing(name)};
                auto const chosen = choose(attack.random, whom);
                expect_election();
                for (auto const member : chosen)
                    kill(member);
                attack.wait(attack.random.between(0ms, arena_.ttl));
                for (auto const member : chosen)
                    start(member);
                recover(attack);
                return true;
            }};
}

Disturbance ConsensusUnderAttack::on_network(std::size_t kind)
{
    auto const like = networks_.front()->disturbances()[kind];
    return {like.name + ", one " + member_, like.often, [this, kind](Attack& attack) {
                return networks_[attack.random.below(networks_.size())]->disturbances()[kind].strike(attack);
            }};
}

std::vector<Disturbance> ConsensusUnderAttack::common_disturbances()
{
    std::vector<Disturbance> all{
        stopping("follower", 2, Whom::follower, false), stopping("leader", 3, Whom::leader, false),
        stopping("majority", 2, Whom::majority, false), stopping("all " + member_ + "s", 2, Whom::all, true),
        restarting("follower", 2, Whom::follower),      restarting("leader", 3, Whom::leader),
        restarting("majority", 1, Whom::majority),      restarting("all " + member_ + "s", 1, Whom::all),
    };
    for (std::size_t kind = 0; kind < networks_.front()->disturbances().size(); ++kind)
        all.push_back(on_network(kind));
    return all;
}

} // namespace tenure::faults
