// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "acceptance/dead_ports.hpp"

#include "harness/loopback.hpp"
#include "harness/redis_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace tenure::test
{

namespace
{

int make_socket()
{
    int const made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        throw std::system_error(errno, std::generic_category(), "socket");
    return made;
}

} // namespace

ClosedPort::ClosedPort()
    : number_(free_port())
{
}

MutePort::MutePort(int backlog)
    : listener_(make_socket())
{
    auto address = loopback(0);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, backlog) != 0 ||
        ::getsockname(listener_, raw, &size) != 0)
        throw std::system_error(errno, std::generic_category(), "a listening socket");
    number_ = ntohs(address.sin_port);
}

MutePort::~MutePort()
{
    ::close(listener_);
}

SilentPort::SilentPort()
{
    constexpr int most = 16;
    constexpr int long_enough_for_loopback_ms = 200;
    for (int i = 0; i < most; ++i) {
        connections_.push_back(make_socket());
        auto const address = loopback(number());
        (void)::connect(connections_.back(), reinterpret_cast<sockaddr const*>(&address), sizeof address);
        pollfd waiting{connections_.back(), POLLOUT, 0};
        if (::poll(&waiting, 1, long_enough_for_loopback_ms) == 0)
            return;
    }
    throw std::runtime_error("the queue of new connections does not fill");
}

SilentPort::~SilentPort()
{
    for (auto const connection : connections_)
        ::close(connection);
}

} // namespace tenure::test
