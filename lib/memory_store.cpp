// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/stores/memory.hpp>

#include "memory/backend.hpp"
#include "open_runtime.hpp"

#include <utility>

namespace tenure
{

Store open_memory(asio::any_io_executor executor, MemoryConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = memory::make_backend(runtime, config.name);
    return {std::move(runtime), std::move(backend), std::move(options)};
}

} // namespace tenure
