// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/redis_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tenure::test
{

namespace
{

int connected_socket(int family, sockaddr const* address, socklen_t length)
{
    int const result = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (result < 0 || ::connect(result, address, length) != 0) {
        int const error = errno;
        if (result >= 0)
            ::close(result);
        throw std::system_error(error, std::generic_category(), "the test's own client cannot connect");
    }
    return result;
}

template <class Address>
sockaddr const* generic(Address const& address)
{
    return reinterpret_cast<sockaddr const*>(&address);
}

} // namespace

RedisClient::RedisClient(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_ = connected_socket(AF_INET, generic(address), sizeof address);
    int const on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    reply_limit(std::chrono::seconds{10});
}

RedisClient::RedisClient(std::string const& socket_path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path)
        throw std::invalid_argument("the socket's path is too long: " + socket_path);
    std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
    socket_ = connected_socket(AF_UNIX, generic(address), sizeof address);
    reply_limit(std::chrono::seconds{10});
}

RedisClient::RedisClient(RedisClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1))
    , input_(std::move(other.input_))
{
}

RedisClient& RedisClient::operator=(RedisClient&& other) noexcept
{
    std::swap(socket_, other.socket_);
    std::swap(input_, other.input_);
    return *this;
}

RedisClient::~RedisClient()
{
    if (socket_ >= 0)
        ::close(socket_);
}

void RedisClient::reply_limit(std::chrono::milliseconds limit)
{
    timeval const value{limit.count() / 1000, (limit.count() % 1000) * 1000};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
}

Reply RedisClient::send(std::vector<std::string> const& arguments)
{
    std::string request = "*" + std::to_string(arguments.size()) + "\r\n";
    for (auto const& argument : arguments)
        request += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
    for (std::string_view rest = request; !rest.empty();) {
        auto const written = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (written <= 0)
            throw std::runtime_error("the test's own client: the connection broke while writing");
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    return read_reply();
}

Reply RedisClient::checked(std::vector<std::string> const& arguments)
{
    auto reply = send(arguments);
    if (reply.is_error())
        throw std::runtime_error(arguments.at(0) + ": " + reply.text);
    return reply;
}

std::optional<Reply> RedisClient::receive(std::chrono::milliseconds limit)
{
    pollfd ready{socket_, POLLIN, 0};
    if (input_.empty() && ::poll(&ready, 1, static_cast<int>(limit.count())) <= 0)
        return std::nullopt;
    return read_reply();
}

std::optional<std::string> RedisClient::get(std::string_view key)
{
    auto reply = call("GET", key);
    if (reply.is_null())
        return std::nullopt;
    return std::move(reply.text);
}

std::int64_t RedisClient::pttl(std::string_view key)
{
    return call("PTTL", key).integer;
}

std::int64_t RedisClient::pexpiretime(std::string_view key)
{
    return call("PEXPIRETIME", key).integer;
}

std::vector<std::string> RedisClient::keys(std::string const& pattern)
{
    std::vector<std::string> result;
    std::string cursor = "0";
    do {
        auto const reply = call("SCAN", cursor, "MATCH", pattern, "COUNT", 1000);
        for (auto const& key : reply.elements.at(1).elements)
            result.push_back(key.text);
        cursor = reply.elements.at(0).text;
    } while (cursor != "0");
    return result;
}

std::string RedisClient::info(std::string_view field)
{
    auto const all = call("INFO", "all").text;
    auto const wanted = "\n" + std::string{field} + ":";
    auto const found = all.find(wanted);
    if (found == std::string::npos)
        return {};
    auto const begin = found + wanted.size();
    return all.substr(begin, all.find('\r', begin) - begin);
}

Reply RedisClient::read_reply()
{
    auto const line = read_line();
    auto const rest = line.substr(1);
    switch (line[0]) {
    case '+':
        return {Reply::Kind::status, rest, 0, {}};
    case '-':
        return {Reply::Kind::error, rest, 0, {}};
    case ':':
        return {Reply::Kind::integer, {}, std::stoll(rest), {}};
    case '$': {
        auto const size = std::stoll(rest);
        if (size < 0)
            return {};
        auto const length = static_cast<std::size_t>(size);
        while (input_.size() < length + 2)
            read_more();
        Reply result{Reply::Kind::string, input_.substr(0, length), 0, {}};
        input_.erase(0, length + 2);
        return result;
    }
    case '*': {
        auto const count = std::stoll(rest);
        if (count < 0)
            return {};
        Reply result{Reply::Kind::array, {}, 0, {}};
        for (long long i = 0; i < count; ++i)
            result.elements.push_back(read_reply());
        return result;
    }
    default:
        throw std::runtime_error("the test's own client: not RESP2: " + line);
    }
}

std::string RedisClient::read_line()
{
    std::size_t end = 0;
    while ((end = input_.find("\r\n")) == std::string::npos)
        read_more();
    auto line = input_.substr(0, end);
    input_.erase(0, end + 2);
    if (line.empty())
        throw std::runtime_error("the test's own client: an empty line");
    return line;
}

void RedisClient::read_more()
{
    char buffer[4096];
    auto const got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR)
        return;
    if (got < 0 && errno == EAGAIN)
        throw std::runtime_error("the test's own client: no reply in time");
    if (got < 0)
        throw std::system_error(errno, std::generic_category(), "the test's own client: the connection broke");
    if (got == 0)
        throw std::runtime_error("the test's own client: the server closed the connection");
    input_.append(buffer, static_cast<std::size_t>(got));
}

} // namespace tenure::test
