// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenure::postgresql
{

/// the version of table and functions that this library speaks
inline constexpr int protocol = 1;

/** The statement that creates or upgrades the table and its functions in one transaction, and lets the roles use them.
 *  It may be run again. */
[[nodiscard]] std::string install_statement(std::string_view schema, std::vector<std::string> const& roles);

/** The statement with `schema.` for each `tenure.` */
[[nodiscard]] std::string in_schema(std::string_view sql, std::string_view schema);

} // namespace tenure::postgresql
