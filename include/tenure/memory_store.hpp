// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/store.hpp>

#include <string>

namespace tenure
{

/** A store inside this process: for one program with many workers, and for tests. */
struct MemoryConfig {
    /// stores opened with the same name share their keys; empty: shares with nobody
    std::string name = {};
};

/** @throws std::invalid_argument for a worker name that is not usable */
[[nodiscard]] Store open_memory(asio::any_io_executor executor, MemoryConfig config = {}, StoreOptions options = {});

} // namespace tenure
