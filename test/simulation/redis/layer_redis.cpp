// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The engine and the Redis store over byte streams to a simulated server.
#include "../layer.hpp"

#include "access.hpp"
#include "byte_network.hpp"
#include "server.hpp"
#include "settings.hpp"

#include <array>
#include <utility>

namespace tenure::simulation
{

Layer make_layer(World& world)
{
    auto network = std::make_unique<ByteNetwork>(world);
    auto server = std::make_unique<RedisServer>(world, *network);
    network->serve(*server);
    Layer layer;
    layer.access = [&world, network = network.get(), server = server.get()](Process& process) {
        return std::make_unique<RedisAccess>(world, *network, process, server->client_config());
    };
    layer.network = std::move(network);
    layer.store = std::move(server);
    return layer;
}

Plan make_layer_plan(std::uint64_t seed)
{
    auto plan = make_plan(seed);
    Random random(seed, 6);
    auto& settings = plan.settings;
    settings.wake_ups_of_plain = random.below(3) != 0;
    settings.more = describe(make_redis_settings(seed)) + (settings.wake_ups_of_plain ? "" : ", plain without hints");
    constexpr std::array<FaultKind, 4> kinds{
        FaultKind::silence, FaultKind::silence, FaultKind::hang_up, FaultKind::script_flush};
    Ns const pause = random.below(4) == 0 ? 20 * second : 6 * second;
    for (Ns at = random.between(0, pause); at < plan.quiet_from; at += random.between(second, 2 * pause)) {
        Fault fault;
        fault.at = at;
        fault.kind = kinds.at(random.below(kinds.size()));
        fault.process = random.below(settings.processes);
        plan.faults.push_back(fault);
    }
    return plan;
}

std::span<StoreMutant const> store_mutants()
{
    return {};
}

std::string_view library_mutants()
{
    return "redis";
}

} // namespace tenure::simulation
