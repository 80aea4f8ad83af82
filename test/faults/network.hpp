// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "attack.hpp"

#include "harness/fault_proxy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenure::faults
{

/** Several ways to one server, each through a fault proxy, and what networks do to them. Any kind of store that is
 * reached by TCP can have one for each of its servers. */
class Network
{
public:
    Network(std::uint16_t server_port, std::size_t ways);

    /** The port that user number `user` connects to. */
    [[nodiscard]] std::uint16_t port(std::size_t user) const { return ways_[user % ways_.size()]->port(); }
    [[nodiscard]] std::vector<Disturbance> disturbances();

private:
    /** One way, or all of them. */
    using Ways = std::vector<test::FaultProxy*>;
    [[nodiscard]] Ways some(Random& random);
    /** A fault that lies on the ways for a time. After a loss, no later bytes of the same stream arrive. */
    [[nodiscard]] Disturbance lasting(
        std::string name, unsigned often,
        std::function<void(test::FaultProxy&, Random&, std::chrono::milliseconds ttl)> begin);
    [[nodiscard]] Disturbance reset_storm();
    [[nodiscard]] Disturbance silent_flow();

    std::vector<std::unique_ptr<test::FaultProxy>> ways_;
};

} // namespace tenure::faults
