// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A network that is not cut when it says so would make every test of a partition pass.
#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "harness/network_namespaces.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tenure::test;
using namespace std::chrono_literals;
using Link = MemberNetworks::Link;

namespace
{

class Socket : Immovable
{
public:
    /** It belongs to the network that the thread is in. */
    explicit Socket(int flags = 0)
        : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0))
    {
    }
    struct Accept {
        Socket const& listening;
    };
    explicit Socket(Accept accept)
        : descriptor_(::accept4(accept.listening.descriptor_, nullptr, nullptr, SOCK_CLOEXEC))
    {
    }
    ~Socket() { ::close(descriptor_); }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    [[nodiscard]] bool ready(short what, std::chrono::milliseconds limit) const
    {
        pollfd poll{descriptor_, what, 0};
        return ::poll(&poll, 1, static_cast<int>(limit.count())) == 1;
    }

private:
    int descriptor_;
};

sockaddr_in address_of(std::string const& host, std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
        throw std::invalid_argument(host);
    return address;
}

constexpr std::uint16_t port = 2000;

/** Listens on all interfaces of the place. */
std::unique_ptr<Socket> listen_at(ServerPlace const& place)
{
    InNetwork const inside{place.network.get()};
    auto socket = std::make_unique<Socket>();
    auto const address = address_of("0.0.0.0", port);
    if (::bind(socket->descriptor(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 ||
        ::listen(socket->descriptor(), 16) != 0)
        throw std::runtime_error("cannot listen");
    return socket;
}

/** Whether a connection from this thread's network to the host succeeds within the limit. */
bool reaches(std::string const& host, std::chrono::milliseconds limit)
{
    Socket const socket{SOCK_NONBLOCK};
    auto const address = address_of(host, port);
    if (::connect(socket.descriptor(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0)
        return true;
    if (errno != EINPROGRESS || !socket.ready(POLLOUT, limit))
        return false;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0;
}

constexpr auto long_enough = 10s;
/// a machine that answers at all does so within a millisecond here
constexpr auto too_long = 400ms;

bool client_reaches(MemberNetworks const& networks, std::size_t member, std::chrono::milliseconds limit)
{
    InNetwork const inside{networks.clients()};
    return reaches(networks.places().at(member).client_address, limit);
}

bool peer_reaches(MemberNetworks const& networks, std::size_t from, std::size_t to, std::chrono::milliseconds limit)
{
    InNetwork const inside{networks.places().at(from).network.get()};
    return reaches(networks.places().at(to).peer_address, limit);
}

std::set<std::string> interfaces()
{
    std::set<std::string> names;
    auto* const all = ::if_nameindex();
    for (auto* one = all; one != nullptr && one->if_index != 0; ++one)
        names.emplace(one->if_name);
    ::if_freenameindex(all);
    return names;
}

struct Listening {
    Listening()
    {
        for (auto const& place : networks.places())
            sockets.push_back(listen_at(place));
    }
    MemberNetworks networks{3};
    std::vector<std::unique_ptr<Socket>> sockets;
};

} // namespace

TEST_CASE("members and their clients have private networks", "[harness]")
{
    require_network_namespaces();
    auto const before = interfaces();
    Listening const listening;
    auto const& networks = listening.networks;
    CHECK(interfaces() == before);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(client_reaches(networks, i, long_enough));
        CHECK(peer_reaches(networks, i, (i + 1) % 3, long_enough));
        // the two networks are two
        InNetwork const inside{networks.clients()};
        CHECK_FALSE(reaches(networks.places()[i].peer_address, too_long));
    }
}

TEST_CASE("a link that is cut lets nothing through, and no other link is disturbed", "[harness]")
{
    require_network_namespaces();
    Listening const listening;
    auto const& networks = listening.networks;

    SECTION("to the peers")
    {
        networks.cut(0, Link::peers);
        CHECK_FALSE(peer_reaches(networks, 1, 0, too_long));
        CHECK_FALSE(peer_reaches(networks, 0, 2, too_long));
        CHECK(peer_reaches(networks, 1, 2, long_enough));
        CHECK(client_reaches(networks, 0, long_enough));
        networks.mend(0, Link::peers);
        CHECK(eventually([&] { return peer_reaches(networks, 1, 0, too_long); }));
    }
    SECTION("to the clients")
    {
        networks.cut(0, Link::clients);
        CHECK_FALSE(client_reaches(networks, 0, too_long));
        CHECK(client_reaches(networks, 1, long_enough));
        CHECK(peer_reaches(networks, 1, 0, long_enough));
        networks.mend(0, Link::clients);
        CHECK(eventually([&] { return client_reaches(networks, 0, too_long); }));
    }
}

TEST_CASE("a connection over a link that is cut stays open, and is silent until the link is mended", "[harness]")
{
    require_network_namespaces();
    Listening const listening;
    auto const& networks = listening.networks;
    InNetwork const inside{networks.clients()};
    Socket const client;
    auto const address = address_of(networks.places()[0].client_address, port);
    REQUIRE(::connect(client.descriptor(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    Socket const server{Socket::Accept{*listening.sockets[0]}};
    REQUIRE(::send(client.descriptor(), "a", 1, MSG_NOSIGNAL) == 1);
    char byte = 0;
    REQUIRE(::recv(server.descriptor(), &byte, 1, 0) == 1);

    networks.cut(0, Link::clients);
    REQUIRE(::send(client.descriptor(), "b", 1, MSG_NOSIGNAL) == 1);
    CHECK_FALSE(server.ready(POLLIN, too_long));
    networks.mend(0, Link::clients);
    REQUIRE(server.ready(POLLIN, long_enough));
    CHECK(::recv(server.descriptor(), &byte, 1, 0) == 1);
    CHECK(byte == 'b');
}
