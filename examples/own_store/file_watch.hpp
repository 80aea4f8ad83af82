// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <filesystem>
#include <functional>
#include <memory>

namespace own_store
{

/** Hints whenever the file is touched. That is so for each release in a directory, not only for the keys that a waiter
 * wants: a hint too many costs it a claim, one too few a pause. */
[[nodiscard]] std::unique_ptr<tenure::backend::Watch> watch_file(
    std::shared_ptr<tenure::backend::Runtime> const& runtime, std::filesystem::path const& file,
    tenure::backend::WatchHandler handler);

} // namespace own_store
