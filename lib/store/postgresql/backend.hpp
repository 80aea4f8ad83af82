// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <config/url.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/postgresql.hpp>

#include <memory>
#include <string>

namespace tenure::postgresql
{

/** Makes an unchecked config from a `postgresql://` or `postgres://` URL.
 *  @throws std::invalid_argument naming part, value and rule; never the password */
[[nodiscard]] PostgresqlConfig config_from(Url const& url);

/** Checks every rule that needs no server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(PostgresqlConfig const& config);

/** `postgresql://host:5432/database`, without user and password. */
[[nodiscard]] std::string describe(PostgresqlConfig const& config);

/** The statement that creates or upgrades the schema, in one transaction, and lets the roles use it. It may be run
 * again. In builds with PostgreSQL only. */
[[nodiscard]] std::string install_statement(std::string_view schema, std::vector<std::string> const& roles);

/** Makes the backend for a PostgreSQL database. It connects at the first request. In builds with PostgreSQL only.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, PostgresqlConfig config);

} // namespace tenure::postgresql
