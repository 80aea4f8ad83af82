// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/exit_code.hpp"

#include <tenure/store.hpp>

#include <string>

namespace tenure::tool
{

/** The library's own words for an error, except those that speak of its C++ interface or of pools alone. */
[[nodiscard]] std::string words_for(error_code error);

/** The message about a failed operation: the store, and the cause in the server's words if there are any, else the
 * library's words for the error. */
[[nodiscard]] std::string explain(Store const& store, error_code error);

/** The exit code for an operation of a store that failed. */
[[nodiscard]] ExitCode exit_code_for(error_code error) noexcept;

} // namespace tenure::tool
