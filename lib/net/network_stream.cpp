// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Choice between TLS and plain TCP.
#include "stream_kinds.hpp"
#include <config/rules.hpp>

#include <tenure/features.hpp>

#include <utility>

namespace tenure::net
{

std::shared_ptr<Stream>
make_network_stream(std::shared_ptr<Runtime> const& runtime, std::string host, std::uint16_t port, TlsConfig const& tls)
{
#if TENURE_HAS_TLS
    if (tls.enabled)
        return make_tls_stream(runtime, std::move(host), port, tls);
#else
    // The rules of every config already refuse this. A config that bypasses them must not lead to plain text.
    check_tls({}, tls);
#endif
    return make_tcp_stream(runtime, std::move(host), port);
}

} // namespace tenure::net
