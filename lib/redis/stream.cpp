// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "stream.hpp"

#include "stream_kinds.hpp"

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
            return make_unix_stream(runtime, config);
        }
        return config.tls.enabled ? make_tls_stream(runtime, config) : make_tcp_stream(runtime, config);
    };
}

} // namespace tenure::redis
