// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The engine over a store of the simulation's own.
#include "layer.hpp"
#include "link.hpp"
#include "message_network.hpp"
#include "server.hpp"
#include "world.hpp"

#include <array>
#include <string>
#include <utility>

namespace tenure::simulation
{

Layer make_layer(World& world)
{
    auto network = std::make_unique<MessageNetwork>(world);
    auto server = std::make_unique<Server>(world, *network);
    network->serve(*server);
    Layer layer;
    layer.access = [&world, network = network.get()](Process& process) {
        return std::make_unique<Link>(world, *network, process);
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
    settings.line = random.below(4) != 0;
    settings.silent_releases = random.below(2) == 0;
    settings.detaches = Random(seed, 5).below(3) == 0;
    settings.more = std::string(settings.line ? ", a line" : ", no line") +
                    (settings.silent_releases ? ", steady polls" : "") + (settings.detaches ? ", detachments" : "");
    return plan;
}

std::span<StoreMutant const> store_mutants()
{
    static constexpr std::array<StoreMutant, 2> mutants{
        {{"store_releases_without_compare", "S7", &StoreMutants::release_without_compare},
         {"store_fence_by_increment", "S10", &StoreMutants::fence_by_increment}}};
    return mutants;
}

std::string_view library_mutants()
{
    return "engine";
}

} // namespace tenure::simulation
