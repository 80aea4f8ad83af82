// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/quorum.hpp"

#include <poll.h>

#include <cerrno>
#include <system_error>

namespace bench::raw
{

Quorum::Quorum(std::vector<std::uint16_t> const& ports)
{
    for (auto const port : ports)
        clients_.push_back(std::make_unique<Client>(port));
}

void Quorum::send_all(std::string_view bytes)
{
    for (auto const& client : clients_)
        client->send(bytes);
}

void Quorum::receive(std::function<void(std::size_t server, Reply const&)> const& handler)
{
    std::vector<pollfd> waits;
    for (auto const& client : clients_)
        waits.push_back({client->descriptor(), POLLIN, 0});
    while (::poll(waits.data(), waits.size(), -1) < 0)
        if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
    for (std::size_t server = 0; server < clients_.size(); ++server) {
        if (waits[server].revents == 0)
            continue;
        clients_[server]->receive();
        for (Reply reply; clients_[server]->take(reply);)
            handler(server, reply);
    }
}

} // namespace bench::raw
