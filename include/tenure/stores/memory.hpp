// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>

#include <string>

namespace tenure
{

/** A store inside this process: for one program with many workers, and for tests. */
struct MemoryConfig {
    /// stores opened with the same name share their keys; empty: private keys
    std::string name = {};
};

/** @throws std::invalid_argument for an invalid worker name */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, MemoryConfig config, StoreOptions options);

} // namespace tenure
