// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <config/url.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/file.hpp>

#include <memory>
#include <string>

namespace tenure::file
{

/** Makes an unchecked config from a `file:` URL. @throws std::invalid_argument naming part, value and rule */
[[nodiscard]] FileConfig config_from(Url const& url);
/** @throws std::invalid_argument naming field, value and rule */
void check_config(FileConfig const& config);
/** The directory of the config, or that of this user. */
[[nodiscard]] std::string directory_of(FileConfig const& config);
/** `file:///path` */
[[nodiscard]] std::string describe(FileConfig const& config);

/** Makes a backend for a directory, which it opens when first needed.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, FileConfig const& config);

} // namespace tenure::file
