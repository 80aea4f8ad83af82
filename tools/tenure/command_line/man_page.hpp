// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace CLI
{
class App;
}

namespace tenure::tool
{

/** tenure(1), for groff and mandoc. Made of the same definitions as the help of the commands. */
[[nodiscard]] std::string man_page(CLI::App const& program);

} // namespace tenure::tool
