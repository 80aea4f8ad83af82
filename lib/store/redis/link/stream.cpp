// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Streams to a Redis server.
#include "stream.hpp"

#include <net/stream_kinds.hpp>

#include <stdexcept>

namespace tenure::redis
{

StreamFactory socket_streams()
{
    return [](std::shared_ptr<Runtime> const& runtime, RedisConfig const& config) {
        if (!config.socket_path.empty()) {
            if (config.tls.enabled)
                throw std::invalid_argument(
                    "TLS over a Unix socket is not supported: switch it off, or connect by TCP");
            return net::make_unix_stream(runtime, config.socket_path);
        }
        return net::make_network_stream(runtime, config.host, config.port, config.tls);
    };
}

StreamFactory with_address_map(StreamFactory streams, AddressMap map)
{
    if (!map)
        return streams;
    return [streams = std::move(streams),
            map = std::move(map)](std::shared_ptr<Runtime> const& runtime, RedisConfig const& config) {
        auto reachable = config;
        auto const [host, port] = map(Endpoint{config.host, config.port});
        reachable.host = host;
        reachable.port = port;
        return streams(runtime, reachable);
    };
}

} // namespace tenure::redis
