// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Config of PostgreSQL: parsing of URLs, checks, and its name.
#pragma once

#include <config/url.hpp>

#include <tenure/stores/postgresql.hpp>

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

} // namespace tenure::postgresql
