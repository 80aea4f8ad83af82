// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "settings.hpp"

#include "../random.hpp"

#include <array>
#include <chrono>

namespace tenure::simulation
{

RedisSettings make_redis_settings(std::uint64_t seed)
{
    // the first stands for servers and proxies before HELLO, which speak RESP2
    constexpr std::array<Flavor, 7> flavors{
        {{"redis", "5.0.14", false, false, false, false, true, true},
         {"redis", "6.2.14", true, false, false, false, true},
         {"redis", "7.0.15", true, false, false, false, false},
         {"valkey", "8.0.1", true, false, false, false, false},
         {"valkey", "8.1.4", true, true, false, false, false},
         {"valkey", "9.0.0", true, true, true, false, false},
         {"redis", "8.4.0", true, true, false, true, false}}};
    Random random(seed, 7);
    RedisSettings settings;
    settings.flavor = flavors.at(random.below(flavors.size()));
    auto& client = settings.client;
    client.host = "simulated";
    if (random.below(2) == 0)
        client.password = "secret";
    client.database = random.below(3) == 0 ? 1 + random.below(5) : 0;
    client.connect_timeout = std::chrono::milliseconds(random.between(300, 1500));
    client.reconnect_backoff = std::chrono::milliseconds(random.between(20, 200));
    // dice of its own: the rest of a seed's world stays
    if (Random strict(seed, 10); strict.below(4) == 0)
        settings.strictness = static_cast<Strictness>(1 + strict.below(4));
    return settings;
}

std::string describe(RedisSettings const& settings)
{
    auto const& flavor = settings.flavor;
    return ", " + std::string(flavor.server) + " " + std::string(flavor.version) +
           (settings.client.password.empty() ? "" : ", password") + ", database " +
           std::to_string(settings.client.database) + ", connects within " +
           std::to_string(settings.client.connect_timeout.count()) + " ms" + std::string(describe(settings.strictness));
}

} // namespace tenure::simulation
