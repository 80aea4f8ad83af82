// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/postgresql.hpp>

#include <memory>

namespace tenure::postgresql
{

/** Makes the backend for a PostgreSQL database. It connects at the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, PostgresqlConfig config);

} // namespace tenure::postgresql
