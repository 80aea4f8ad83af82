// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <netinet/in.h>

#include <cstdint>

namespace tenure::test
{

[[nodiscard]] inline sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

} // namespace tenure::test
