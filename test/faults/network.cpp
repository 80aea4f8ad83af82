// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "network.hpp"

#include <chrono>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::Direction;
using test::Fault;
using test::FaultProxy;

Network::Network(std::uint16_t server_port, std::size_t ways)
{
    for (std::size_t way = 0; way < ways; ++way)
        ways_.push_back(std::make_unique<FaultProxy>(server_port));
}

Network::Ways Network::some(Random& random)
{
    Ways chosen;
    auto const one = random.below(ways_.size());
    bool const all = random.one_in(3);
    for (std::size_t way = 0; way < ways_.size(); ++way)
        if (all || way == one)
            chosen.push_back(ways_[way].get());
    return chosen;
}

Disturbance
Network::lasting(std::string name, unsigned often, std::function<void(FaultProxy&, Random&, milliseconds)> begin)
{
    return {name, often, [this, name, begin = std::move(begin)](Attack& attack) {
                auto const ways = some(attack.random);
                FaultRecord record;
                record.name = name;
                FaultScope const fault{attack.ledger, record};
                for (auto* way : ways)
                    begin(*way, attack.random, attack.arena.ttl);
                attack.wait(attack.random.between(attack.arena.ttl / 4, attack.arena.ttl * 8 / 5));
                for (auto* way : ways) {
                    way->reset_connections();
                    way->heal();
                }
                return true;
            }};
}

Disturbance Network::reset_storm()
{
    return {"network: storm of resets", 1, [this](Attack& attack) {
                auto const ways = some(attack.random);
                FaultRecord record;
                record.name = "network: storm of resets";
                FaultScope const fault{attack.ledger, record};
                for (auto resets = 5 + attack.random.below(15); resets > 0; --resets) {
                    for (auto* way : ways)
                        way->reset_connections();
                    attack.wait(attack.random.between(10ms, 120ms));
                }
                return true;
            }};
}

Disturbance Network::silent_flow()
{
    return {"network: flow dropped in silence", 2, [this](Attack& attack) {
                FaultRecord record;
                record.name = "network: flow dropped in silence";
                FaultScope const fault{attack.ledger, record};
                for (auto* way : some(attack.random))
                    way->silence_connections();
                // Nothing heals this: who uses such a connection has to find out by itself.
                attack.wait(attack.arena.ttl);
                return true;
            }};
}

std::vector<Disturbance> Network::disturbances()
{
    std::vector<Disturbance> all;
    all.push_back(lasting("network: slow both ways", 1, [](FaultProxy& way, Random& random, milliseconds ttl) {
        for (auto const direction : {Direction::requests, Direction::replies})
            way.set(direction, {.delay = random.between(5ms, ttl / 8)});
    }));
    all.push_back(lasting("network: slow replies", 1, [](FaultProxy& way, Random& random, milliseconds ttl) {
        way.set(Direction::replies, {.delay = random.between(ttl / 8, ttl * 5 / 4)});
    }));
    all.push_back(lasting("network: slow requests", 1, [](FaultProxy& way, Random& random, milliseconds ttl) {
        way.set(Direction::requests, {.delay = random.between(ttl / 8, ttl)});
    }));
    all.push_back(lasting("network: requests lost", 1, [](FaultProxy& way, Random&, milliseconds) {
        way.set(Direction::requests, {.kind = Fault::Kind::drop});
    }));
    all.push_back(lasting("network: replies lost", 2, [](FaultProxy& way, Random&, milliseconds) {
        way.set(Direction::replies, {.kind = Fault::Kind::drop});
    }));
    all.push_back(lasting("network: cut off both ways", 1, [](FaultProxy& way, Random&, milliseconds) {
        way.set(Direction::requests, {.kind = Fault::Kind::drop});
        way.set(Direction::replies, {.kind = Fault::Kind::drop});
    }));
    all.push_back(lasting("network: requests truncated", 1, [](FaultProxy& way, Random& random, milliseconds) {
        way.set(Direction::requests, {.reset_after = 1 + random.below(400)});
    }));
    all.push_back(lasting("network: replies truncated", 1, [](FaultProxy& way, Random& random, milliseconds) {
        way.set(Direction::replies, {.reset_after = 1 + random.below(60)});
    }));
    all.push_back(lasting("network: connections refused", 1, [](FaultProxy& way, Random&, milliseconds) {
        way.refuse(true);
        way.reset_connections();
    }));
    all.push_back({"network: held and passed on later", 2, [this](Attack& attack) {
                       auto const ways = some(attack.random);
                       FaultRecord record;
                       record.name = "network: held and passed on later";
                       FaultScope const fault{attack.ledger, record};
                       bool const requests = attack.random.one_in(2);
                       for (auto* way : ways)
                           way->set(requests ? Direction::requests : Direction::replies, {.kind = Fault::Kind::hold});
                       attack.wait(attack.random.between(attack.arena.ttl / 4, attack.arena.ttl * 5 / 4));
                       for (auto* way : ways)
                           way->heal();
                       return true;
                   }});
    all.push_back(reset_storm());
    all.push_back(silent_flow());
    return all;
}

} // namespace tenure::faults
