// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "stream.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/stores/tls_config.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace tenure::net
{

[[nodiscard]] std::shared_ptr<Stream>
make_tcp_stream(std::shared_ptr<Runtime> const& runtime, std::string host, std::uint16_t port);
[[nodiscard]] std::shared_ptr<Stream>
make_tls_stream(std::shared_ptr<Runtime> const& runtime, std::string host, std::uint16_t port, TlsConfig tls);
/** Makes a TLS stream if TLS is enabled, else a TCP stream.
 *  @throws std::invalid_argument  TLS is enabled and this build of the library lacks it */
[[nodiscard]] std::shared_ptr<Stream> make_network_stream(
    std::shared_ptr<Runtime> const& runtime, std::string host, std::uint16_t port, TlsConfig const& tls);
[[nodiscard]] std::shared_ptr<Stream> make_unix_stream(std::shared_ptr<Runtime> const& runtime, std::string path);

} // namespace tenure::net
