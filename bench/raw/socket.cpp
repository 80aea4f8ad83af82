// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace bench::raw
{

Socket::Socket(std::uint16_t port, unsigned patience)
    : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor_ < 0 || ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        auto const error = errno;
        if (descriptor_ >= 0)
            ::close(descriptor_);
        throw std::system_error(error, std::generic_category(), "connect");
    }
    int const on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    timeval const limit{static_cast<time_t>(patience), 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Socket::~Socket()
{
    ::close(descriptor_);
}

void Socket::send(std::string_view bytes) const
{
    while (!bytes.empty()) {
        auto const sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0)
            throw std::system_error(errno, std::generic_category(), "send");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::size_t Socket::receive(char* buffer, std::size_t size) const
{
    auto const received = ::recv(descriptor_, buffer, size, 0);
    if (received <= 0)
        throw std::system_error(received == 0 ? ECONNRESET : errno, std::generic_category(), "receive");
    return static_cast<std::size_t>(received);
}

} // namespace bench::raw
