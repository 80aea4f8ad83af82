// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <filesystem>
#include <memory>

namespace own_store
{

namespace asio = boost::asio;

/** @throws std::filesystem::filesystem_error if the directory is not there and cannot be made */
[[nodiscard]] std::shared_ptr<tenure::Backend>
make_file_backend(std::shared_ptr<tenure::backend::Runtime> runtime, std::filesystem::path directory);

/** A store over a directory of a local file system, for processes of one machine.
 *  @throws std::filesystem::filesystem_error, std::invalid_argument for a worker name that is not usable */
[[nodiscard]] tenure::Store open_directory(
    asio::any_io_executor const& executor, std::filesystem::path directory, tenure::StoreOptions const& options);

} // namespace own_store
