// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/stores/redlock.hpp>

#include "open_runtime.hpp"
#include "redis/stream.hpp"
#include "redlock/backend.hpp"
#include "redlock/config_rules.hpp"

#include <utility>
#include <vector>

namespace tenure
{

Store open_redlock(asio::any_io_executor executor, RedlockConfig config, StoreOptions options)
{
    redlock::check_config(config);
    auto runtime = open_runtime(std::move(executor), options);
    std::vector<redlock::Quorum::Node> nodes;
    nodes.reserve(config.servers.size());
    for (auto const& server : config.servers)
        nodes.push_back(redis::make_node_backend(runtime, server, redis::socket_streams()));
    auto backend = redlock::make_backend(runtime, std::move(nodes));
    return {std::move(runtime), std::move(backend), std::move(options)};
}

} // namespace tenure
