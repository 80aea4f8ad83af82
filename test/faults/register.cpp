// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The fenced register: the resource that leases protect. One process, one loop; it knows no store and no lease.
//   fenced_register SOCKET LOG_FILE
//     write CELL TOKEN ENTERED -> accepted | rejected: the token is lower than one that has written to the cell
//     totals                   -> ACCEPTED REJECTED STALE
// ENTERED is when the writer's lease began, by its own clock. A write is stale if it is accepted after a write under a
// lease that began later: the tokens did not show the order of the grants. It is counted, and logged as "CELL TOKEN
// ENTERED LATEST_ENTERED NOW".
#include "harness/auditor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace
{

class Register
{
public:
    explicit Register(std::string const& log)
        : log_(log, std::ios::app)
    {
    }

    std::string answer(std::string const& request)
    {
        std::istringstream line{request};
        std::string order;
        line >> order;
        if (order == "totals")
            return std::to_string(accepted_) + ' ' + std::to_string(rejected_) + ' ' + std::to_string(stale_) + '\n';
        std::uint32_t cell = 0;
        std::uint64_t token = 0;
        std::int64_t entered = 0;
        if (order != "write" || !(line >> cell >> token >> entered))
            throw std::runtime_error("not an order: " + request);
        return write(cell, token, entered) ? "accepted\n" : "rejected\n";
    }

private:
    struct Cell {
        std::uint64_t highest_token = 0;
        std::int64_t latest_entered = 0;
    };

    bool write(std::uint32_t number, std::uint64_t token, std::int64_t entered)
    {
        auto& cell = cells_[number];
        if (token < cell.highest_token) {
            ++rejected_;
            return false;
        }
        ++accepted_;
        if (entered < cell.latest_entered) {
            ++stale_;
            log_ << number << ' ' << token << ' ' << entered << ' ' << cell.latest_entered << ' '
                 << tenure::test::boottime_ns() << std::endl;
        }
        cell.highest_token = token;
        cell.latest_entered = std::max(cell.latest_entered, entered);
        return true;
    }

    std::map<std::uint32_t, Cell> cells_;
    std::uint64_t accepted_ = 0;
    std::uint64_t rejected_ = 0;
    std::uint64_t stale_ = 0;
    std::ofstream log_;
};

struct Client {
    int socket;
    std::string input;
};

[[noreturn]] void fail(char const* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

int listen_at(std::string const& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw std::invalid_argument("the socket's path is too long: " + path);
    std::memcpy(address.sun_path, path.data(), path.size());
    int const listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 ||
        ::listen(listener, 128) != 0)
        fail(path.c_str());
    return listener;
}

/** Answers what has come; false: the client has gone. */
bool serve(Client& client, Register& target)
{
    char buffer[4096];
    auto const got = ::recv(client.socket, buffer, sizeof buffer, 0);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    client.input.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = client.input.find('\n')) != std::string::npos;) {
        auto const reply = target.answer(client.input.substr(0, end));
        client.input.erase(0, end + 1);
        // A client that was killed, or stopped with a full buffer, must not stop the others.
        if (::send(client.socket, reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return false;
    }
    return true;
}

void run(std::string const& path, std::string const& log)
{
    Register target{log};
    int const listener = listen_at(path);
    std::vector<Client> clients;
    for (;;) {
        std::vector<pollfd> watched{{listener, POLLIN, 0}};
        for (auto const& client : clients)
            watched.push_back({client.socket, POLLIN, 0});
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
            fail("poll");
        for (std::size_t i = 0; i < clients.size(); ++i)
            if (watched[i + 1].revents != 0 && !serve(clients[i], target)) {
                ::close(clients[i].socket);
                clients[i].socket = -1;
            }
        std::erase_if(clients, [](Client const& client) { return client.socket < 0; });
        if ((watched[0].revents & POLLIN) != 0)
            if (int const client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); client >= 0)
                clients.push_back({client, {}});
    }
}

} // namespace

int main(int count, char** argument)
try {
    if (count != 3)
        throw std::runtime_error("usage: fenced_register SOCKET LOG_FILE");
    run(argument[1], argument[2]);
} catch (std::exception const& error) {
    std::fprintf(stderr, "fenced_register: %s\n", error.what());
    return 1;
}
