// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "access.hpp"
#include "known_store.hpp"
#include "network.hpp"
#include "plan.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace tenure::simulation
{

class Process;
class World;
struct StoreMutants;

/** Where the simulated world ends and the code that ships begins. Each program is linked with one layer: below the
 *  engine (layer_engine.cpp), or below the connections of the Redis store (redis/layer_redis.cpp). */
struct Layer {
    std::unique_ptr<Network> network;
    std::unique_ptr<KnownStore> store;
    std::function<std::unique_ptr<Access>(Process&)> access;
};

[[nodiscard]] Layer make_layer(World& world);

/** The plan of a seed, with what can happen in this layer alone. */
[[nodiscard]] Plan make_layer_plan(std::uint64_t seed);

/** A bug that can be planted in the layer's simulated store. */
struct StoreMutant {
    std::string_view name;
    /// the rules by which it may be found, separated by spaces
    std::string_view rules;
    bool StoreMutants::* flag;
};

[[nodiscard]] std::span<StoreMutant const> store_mutants();

/** The file of test/mutants whose bugs this layer hunts. */
[[nodiscard]] std::string_view library_mutants();

} // namespace tenure::simulation
