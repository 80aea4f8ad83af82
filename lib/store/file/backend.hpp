// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/file.hpp>

#include <memory>

namespace tenure::file
{

/** Makes a backend for a directory, which it opens when first needed.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, FileConfig const& config);

} // namespace tenure::file
