// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The engine and the Redis store over byte streams to a simulated server.
#include "../layer.hpp"

#include "access.hpp"
#include "byte_network.hpp"
#include "server.hpp"
#include "settings.hpp"

#include <algorithm>
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

namespace
{

/** Adds faults of transactions, the counter and the lines. They have dice of their own: the rest of a seed's plan
 * stays. */
void add_faults_of_protocol(Plan& plan)
{
    Random random(plan.seed, 9);
    constexpr std::array kinds{FaultKind::transaction_cut, FaultKind::transaction_cut, FaultKind::script_flush,
                               FaultKind::script_flush,    FaultKind::spoiled_counter, FaultKind::lost_lines,
                               FaultKind::lost_lines,      FaultKind::flush,           FaultKind::failback};
    Ns const pause = random.below(4) == 0 ? 20 * second : 8 * second;
    for (Ns at = random.between(0, pause); at < plan.quiet_from; at += random.between(second, 2 * pause)) {
        Fault fault;
        fault.at = at;
        fault.kind = kinds.at(random.below(kinds.size()));
        fault.process = random.below(plan.settings.processes);
        auto const left = plan.quiet_from - at;
        if (fault.kind == FaultKind::spoiled_counter) {
            fault.length = std::min(random.between(millisecond, 3 * second), left);
            fault.number = random.below(2);
        } else if (fault.kind == FaultKind::lost_lines && random.below(3) == 0) {
            fault.length = std::min(random.between(millisecond, 3 * second), left);
        } else if (fault.kind == FaultKind::failback) {
            fault.length = std::min(random.between(millisecond, 2 * second), left / 2);
            fault.number = random.between(-50 * millisecond, 50 * millisecond);
        }
        plan.faults.push_back(fault);
    }
}

} // namespace

Plan make_layer_plan(std::uint64_t seed)
{
    auto plan = make_plan(seed);
    Random random(seed, 6);
    auto& settings = plan.settings;
    settings.notifications_of_plain = random.below(3) != 0;
    settings.more =
        describe(make_redis_settings(seed)) + (settings.notifications_of_plain ? "" : ", plain without hints");
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
    add_faults_of_protocol(plan);
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
