// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>

#include <string>
#include <utility>

namespace tenure
{

/** A store inside this process: for one program with many workers, and for tests. */
struct MemoryConfig {
    /// stores opened with the same name share their keys; empty: private keys
    std::string name = {};
};

/** @throws std::invalid_argument for an invalid worker name */
[[nodiscard]] TENURE_API Store open_memory(asio::any_io_executor executor, MemoryConfig config, StoreOptions options);

/** Overload with defaults. Not default arguments: g++ 12 destroys them twice if the call contains a `co_await`. */
[[nodiscard]] inline Store open_memory(asio::any_io_executor executor, MemoryConfig config)
{
    return open_memory(std::move(executor), std::move(config), StoreOptions{});
}
/** Overload for a store that shares its keys with no other one. */
[[nodiscard]] inline Store open_memory(asio::any_io_executor executor)
{
    return open_memory(std::move(executor), MemoryConfig{}, StoreOptions{});
}

/** Overload that takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_memory(Context& context, MemoryConfig config, StoreOptions options)
{
    return open_memory(context.get_executor(), std::move(config), std::move(options));
}
/** Overload with default `StoreOptions`, which takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_memory(Context& context, MemoryConfig config)
{
    return open_memory(context.get_executor(), std::move(config), StoreOptions{});
}
/** Overload for a store that shares its keys with no other one. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_memory(Context& context)
{
    return open_memory(context.get_executor(), MemoryConfig{}, StoreOptions{});
}

} // namespace tenure
