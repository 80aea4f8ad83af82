// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "asio_runtime.hpp"
#include "log_queue.hpp"

#include <tenure/store.hpp>

#include <utility>

namespace tenure
{

/** The runtime for a store that is opened with these options. */
[[nodiscard]] inline std::shared_ptr<Runtime> open_runtime(asio::any_io_executor executor, StoreOptions const& options)
{
    auto log = options.log ? options.log : default_log_sink();
    return engine::make_asio_runtime(
        std::move(executor), is_silent(log) ? LogSink{} : queued(std::move(log)), options.log_level,
        options.own_thread ? engine::RunsOn::own_thread : engine::RunsOn::user_executor);
}

} // namespace tenure
