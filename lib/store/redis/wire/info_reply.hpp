// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** The `name:value` lines of INFO. */
[[nodiscard]] std::map<std::string, std::string, std::less<>> read_info(std::string_view text);

/** The value of one of them, a part of `text`; empty: it is not there. */
[[nodiscard]] std::string_view info_line(std::string_view text, std::string_view name);

} // namespace tenure::redis
