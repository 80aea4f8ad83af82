// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tenure::teardown
{

/** A store to play on, with servers of its own, which end with it. */
struct Stage {
    std::string url;
    std::shared_ptr<void const> servers;
};

/** @param store  memory, redis, redlock, etcd or zookeeper
 *  @returns nothing if its servers are not installed
 *  @throws std::invalid_argument if there is no such store */
[[nodiscard]] std::optional<Stage> set_stage(std::string const& store);

} // namespace tenure::teardown
