// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/redis_server.hpp"

#include "harness/eventually.hpp"

#include <catch2/catch_test_macros.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tenure::test
{

namespace
{

/// the line that servers log when they accept connections and have loaded everything
constexpr char const* accepts = "eady to accept connections";

} // namespace

RedisServer::RedisServer(RedisServerOptions options)
    : options_(std::move(options))
{
    // Another process may take the free port before the server binds to it.
    for (int attempt = 0; attempt < 20; ++attempt) {
        port_ = free_port();
        tls_port_ = options_.tls ? free_port() : std::uint16_t{0};
        if (try_start(accepts))
            return;
        if (log().find("Address already in use") == std::string::npos)
            break;
        std::filesystem::remove(directory_.file("redis.log"));
    }
    throw std::runtime_error("redis-server did not start:\n" + log());
}

std::string RedisServer::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port_);
}

void RedisServer::start()
{
    // A connection of the killed server may still be on its way out of the port for a moment.
    if (!eventually([this] { return try_start(accepts); }, std::chrono::seconds{10}))
        throw std::runtime_error("redis-server did not start again:\n" + log());
}

void RedisServer::start_loading(std::string const& line)
{
    options_.config.push_back(line);
    if (!eventually([this] { return try_start("Loading RDB"); }, std::chrono::seconds{10}))
        throw std::runtime_error("redis-server did not start to load:\n" + log());
}

void RedisServer::restart()
{
    kill();
    start();
}

bool RedisServer::try_start(char const* ready)
{
    write_configuration();
    // Its own log proves that it is this server, not another one that took the port, that is listening.
    auto const already_logged = log().size();
    process_.emplace(
        Command{{redis_server_program(), configuration_path()}, options_.environment, directory_.file("output.log")});
    auto const up = [&] { return !process_->running() || log().find(ready, already_logged) != std::string::npos; };
    if (eventually(up, std::chrono::seconds{20}) && process_->running())
        return true;
    process_.reset();
    return false;
}

void RedisServer::write_configuration() const
{
    std::ofstream file{configuration_path()};
    file << "bind 127.0.0.1\nport " << port_ << "\nprotected-mode no\ndaemonize no\nsave \"\"\nappendonly no\n"
         << "dir " << directory() << "\nlogfile " << directory() << "/redis.log\n";
    if (options_.unix_socket)
        file << "unixsocket " << socket_path() << "\nunixsocketperm 700\n";
    if (options_.tls)
        file << "tls-port " << tls_port_ << "\ntls-cert-file " << options_.tls_certificate << "\ntls-key-file "
             << options_.tls_key << "\ntls-ca-cert-file " << options_.tls_ca << "\n";
    for (auto const& line : options_.config)
        file << line << "\n";
    if (!file.flush())
        throw std::runtime_error("cannot write " + configuration_path());
}

std::string redis_server_program()
{
    char const* const chosen = std::getenv("TENURE_REDIS_SERVER");
    return find_program(chosen != nullptr && *chosen != '\0' ? chosen : "redis-server");
}

void require_redis()
{
    if (redis_server_program().empty())
        SKIP("no redis-server in PATH, and TENURE_REDIS_SERVER names none");
}

std::uint16_t free_port()
{
    int const probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    bool const bound = probe >= 0 && ::bind(probe, generic, length) == 0 && ::getsockname(probe, generic, &length) == 0;
    int const error = errno;
    if (probe >= 0)
        ::close(probe);
    if (!bound)
        throw std::system_error(error, std::generic_category(), "no free port");
    return ntohs(address.sin_port);
}

} // namespace tenure::test
