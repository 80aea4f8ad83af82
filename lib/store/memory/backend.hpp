// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <memory>
#include <string>

namespace tenure::memory
{

/** Makes a backend for a store inside this process.
 *  @param name  stores with the same name share their keys; empty: the keys are private */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, std::string const& name);

} // namespace tenure::memory
