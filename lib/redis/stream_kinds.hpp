// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "stream.hpp"

#include <memory>

namespace tenure::redis
{

[[nodiscard]] std::shared_ptr<Stream>
make_tcp_stream(std::shared_ptr<Runtime> const& runtime, RedisConfig const& config);
[[nodiscard]] std::shared_ptr<Stream>
make_tls_stream(std::shared_ptr<Runtime> const& runtime, RedisConfig const& config);
[[nodiscard]] std::shared_ptr<Stream>
make_unix_stream(std::shared_ptr<Runtime> const& runtime, RedisConfig const& config);

} // namespace tenure::redis
