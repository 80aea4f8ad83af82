// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "link.hpp"

#include <memory>

namespace tenure::simulation
{

/** The simulated store as the engine of one process sees it. */
[[nodiscard]] std::shared_ptr<Backend> make_backend(Link& link, Process& process);

} // namespace tenure::simulation
