// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/backend/runtime.hpp>

#include "open_runtime.hpp"

#include <utility>

namespace tenure
{

std::shared_ptr<Runtime> make_runtime(asio::any_io_executor executor, StoreOptions const& options)
{
    return open_runtime(std::move(executor), options);
}

std::shared_ptr<Runtime> make_runtime(asio::any_io_executor executor)
{
    return open_runtime(std::move(executor), StoreOptions{});
}

} // namespace tenure
