// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/exit_code.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <string>

namespace tenure::tool
{

/** For a person: the worst first, each with its advice beneath. */
[[nodiscard]] std::string
as_text(std::string const& store, Findings const& findings, bool color = false, std::size_t width = 0);

/** One JSON object on one line. */
[[nodiscard]] std::string as_json(std::string const& store, Findings const& findings);

[[nodiscard]] ExitCode exit_code_of(Findings const& findings) noexcept;

} // namespace tenure::tool
