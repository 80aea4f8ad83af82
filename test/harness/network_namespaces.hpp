// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tenure::test
{

/** A separate network on this machine: its processes see only its interfaces, and other processes do not see them.
 *
 *  It has no name, so two tests never meet; and the kernel keeps it only as long as this object, a process or a socket
 *  in it is there, so nothing of it is left however the test ends.
 */
class NetworkNamespace : Immovable
{
public:
    /** A new one, with nothing in it but a loopback interface. @throws std::system_error without the right to make it
     */
    NetworkNamespace();
    ~NetworkNamespace();

    /** Runs commands of `ip`, one each, in it. @throws std::runtime_error with what `ip` says */
    void configure(std::vector<std::string> const& commands) const;
    /** A file that names it as long as this object lives: `netns PATH` in a command moves an interface there. */
    [[nodiscard]] std::string path() const;

private:
    friend class InNetwork;
    int descriptor_ = -1;
};

/** The thread that makes this is in the network until this is destroyed, and so is for good whatever it starts
 * meanwhile: threads, processes, sockets. */
class InNetwork : Immovable
{
public:
    /** Null: the thread stays where it is. */
    explicit InNetwork(NetworkNamespace const* network);
    explicit InNetwork(NetworkNamespace const& network)
        : InNetwork(&network)
    {
    }
    ~InNetwork();

private:
    /// where the thread was before; -1: it stayed
    int before_ = -1;
};

/** Where a server runs, and the addresses under which others reach it. */
struct ServerPlace {
    /// null: where the test is
    std::shared_ptr<NetworkNamespace const> network = nullptr;
    std::string peer_address = "127.0.0.1";
    std::string client_address = "127.0.0.1";

    /** The addresses that a server listens on for its clients: also on its own loopback interface, where the test asks
     * it while its links are cut. */
    [[nodiscard]] std::string client_interface() const { return network ? "0.0.0.0" : client_address; }
};

/** Places for the members of a cluster, and for their clients. Each member has two links: to a network of all members,
 * and to one with the clients.
 *
 *  A cut link is silent: packets are lost and connections stay open without an error.
 */
class MemberNetworks
{
public:
    enum class Link { peers, clients };

    explicit MemberNetworks(std::size_t members);

    [[nodiscard]] std::vector<ServerPlace> const& places() const noexcept { return places_; }
    /** Where clients must be. */
    [[nodiscard]] NetworkNamespace const& clients() const noexcept { return switch_; }

    void cut(std::size_t member, Link link) const { set(member, link, "down"); }
    void mend(std::size_t member, Link link) const { set(member, link, "up"); }
    /** True if no connection between members waits for a TCP retransmission. The intervals of retransmissions grow
     * while a link is cut, so a connection may stay silent for as long again after the link is restored. */
    [[nodiscard]] bool settled() const;

private:
    void set(std::size_t member, Link link, std::string const& state) const;

    /// has a bridge for each of the two networks, and the near ends of all links; clients are on their bridge itself
    NetworkNamespace switch_;
    std::vector<ServerPlace> places_;
};

/** Skips the running test, and says why, where this process may not make network namespaces, the kernel has no bridges,
 * or the machine has no `ip`. */
void require_network_namespaces();

} // namespace tenure::test
