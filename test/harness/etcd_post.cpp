// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/etcd_server.hpp"
#include "harness/immovable.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace tenure::test
{

namespace
{

/** A blocking connection, closed with the object. */
class Socket : Immovable
{
public:
    Socket(std::uint16_t port, std::chrono::milliseconds limit_of_reply)
        : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        timeval limit{};
        limit.tv_sec = limit_of_reply.count() / 1000;
        limit.tv_usec = limit_of_reply.count() % 1000 * 1000;
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(descriptor_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
            throw std::runtime_error("cannot connect to etcd on port " + std::to_string(port));
    }
    ~Socket() { ::close(descriptor_); }

    void write(std::string_view text) const
    {
        while (!text.empty()) {
            auto const sent = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                throw std::runtime_error("cannot write to etcd");
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    [[nodiscard]] std::string read_to_end() const
    {
        std::string text;
        std::array<char, 4096> buffer{};
        for (;;) {
            auto const size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
            if (size < 0)
                throw std::runtime_error("no reply from etcd");
            if (size == 0)
                return text;
            text.append(buffer.data(), static_cast<std::size_t>(size));
        }
    }

private:
    int descriptor_;
};

} // namespace

std::string
etcd_post(std::uint16_t port, std::string const& path, std::string const& body, std::chrono::milliseconds limit)
{
    Socket const socket{port, limit};
    // 1.0: the reply is not chunked and ends with the connection
    socket.write(
        "POST /v3/" + path + " HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
    auto const reply = socket.read_to_end();
    auto const end = reply.find("\r\n\r\n");
    if (end == std::string::npos)
        throw std::runtime_error("a reply of etcd without a header");
    return reply.substr(end + 4);
}

} // namespace tenure::test
