// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/etcd/http/connection.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/etcd.hpp>

#include <memory>

namespace tenure::etcd
{

/** Makes the backend for an etcd cluster.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, EtcdConfig config, StreamFactory streams);

} // namespace tenure::etcd
