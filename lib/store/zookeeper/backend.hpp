// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <memory>

namespace tenure::zookeeper
{

/** Makes the backend for a ZooKeeper ensemble. It connects at the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, ZookeeperConfig const& config);

} // namespace tenure::zookeeper
