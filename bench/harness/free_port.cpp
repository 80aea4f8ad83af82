// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace bench
{

std::uint16_t free_port()
{
    auto const descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (descriptor < 0 || ::bind(descriptor, generic, size) != 0 || ::getsockname(descriptor, generic, &size) != 0)
        throw std::system_error(errno, std::generic_category(), "a free port");
    ::close(descriptor);
    return ntohs(address.sin_port);
}

} // namespace bench
