// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/network_namespaces.hpp"

#include "harness/child_process.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace tenure::test
{

namespace
{

constexpr char const* of_this_thread = "/proc/thread-self/ns/net";
/// the prefixes of their addresses
std::string const peer_network = "10.20.1.";
std::string const client_network = "10.20.2.";

std::string end_name(std::size_t member, MemberNetworks::Link link)
{
    return (link == MemberNetworks::Link::peers ? "peer" : "client") + std::to_string(member);
}

} // namespace

NetworkNamespace::NetworkNamespace()
{
    int error = 0;
    // a separate thread, so that the network of other threads does not change
    std::thread{[&] {
        if (::unshare(CLONE_NEWNET) == 0)
            descriptor_ = ::open(of_this_thread, O_RDONLY | O_CLOEXEC);
        error = descriptor_ < 0 ? errno : 0;
    }}.join();
    if (error != 0)
        throw std::system_error(error, std::generic_category(), "a network namespace");
}

NetworkNamespace::~NetworkNamespace()
{
    ::close(descriptor_);
}

std::string NetworkNamespace::path() const
{
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_);
}

void NetworkNamespace::configure(std::vector<std::string> const& commands) const
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    std::ofstream batch{directory.file("commands")};
    for (auto const& command : commands)
        batch << command << '\n';
    batch.close();
    InNetwork const inside{this};
    ChildProcess ip{Command{{"ip", "-batch", directory.file("commands")}, {}, directory.file("output")}};
    auto const status = ip.wait_for(std::chrono::seconds{20});
    if (!status || status->code != 0)
        throw std::runtime_error("ip cannot set up a network: " + directory.text_of("output"));
}

InNetwork::InNetwork(NetworkNamespace const* network)
{
    if (network == nullptr)
        return;
    before_ = ::open(of_this_thread, O_RDONLY | O_CLOEXEC);
    if (before_ >= 0 && ::setns(network->descriptor_, CLONE_NEWNET) == 0)
        return;
    int const error = errno;
    if (before_ >= 0)
        ::close(before_);
    throw std::system_error(error, std::generic_category(), "entering a network namespace");
}

InNetwork::~InNetwork()
{
    if (before_ < 0)
        return;
    // a thread that goes on in the wrong network makes everything after it wrong
    if (::setns(before_, CLONE_NEWNET) != 0) {
        std::cerr << "a thread cannot go back to its network\n";
        std::abort();
    }
    ::close(before_);
}

MemberNetworks::MemberNetworks(std::size_t members)
{
    // The bridges' own addresses: otherwise they are those of a member's link, and change with it.
    std::vector<std::string> commands{
        "link set lo up",
        "link add name peers address 02:00:00:00:01:fe type bridge",
        "link add name clients address 02:00:00:00:02:fe type bridge",
        "address add " + client_network + "254/24 dev clients",
        "link set peers up",
        "link set clients up"};
    for (std::size_t i = 0; i < members; ++i) {
        auto const network = std::make_shared<NetworkNamespace>();
        ServerPlace const place{network, peer_network + std::to_string(i + 1), client_network + std::to_string(i + 1)};
        for (auto const link : {Link::peers, Link::clients}) {
            std::string const name = link == Link::peers ? "peers" : "clients";
            auto const near = end_name(i, link);
            commands.push_back("link add name " + near + " type veth peer name " + name + " netns " + network->path());
            commands.push_back("link set " + near + " master " + name + " up");
        }
        places_.push_back(place);
    }
    switch_.configure(commands);
    for (auto const& place : places_)
        place.network->configure(
            {"link set lo up", "address add " + place.peer_address + "/24 dev peers",
             "address add " + place.client_address + "/24 dev clients", "link set peers up", "link set clients up"});
}

bool MemberNetworks::settled() const
{
    for (auto const& place : places_) {
        ScratchDirectory const directory{ScratchDirectory::Place::memory};
        InNetwork const inside{place.network.get()};
        ChildProcess ss{Command{{"ss", "-tinHO", "state", "established"}, {}, directory.file("output")}};
        auto const status = ss.wait_for(std::chrono::seconds{20});
        if (!status || status->code != 0)
            throw std::runtime_error("ss cannot list connections: " + directory.text_of("output"));
        std::istringstream lines{directory.text_of("output")};
        for (std::string line; std::getline(lines, line);)
            if (line.find(peer_network) != std::string::npos && line.find(" backoff:") != std::string::npos)
                return false;
    }
    return true;
}

void MemberNetworks::set(std::size_t member, Link link, std::string const& state) const
{
    switch_.configure({"link set " + end_name(member, link) + " " + state});
}

void require_network_namespaces()
{
    if (find_program("ip").empty())
        SKIP("no `ip` (package iproute2) in PATH");
    try {
        NetworkNamespace const network;
        network.configure(
            {"link add name bridge0 type bridge", "link add name veth0 type veth peer name veth1",
             "link set veth0 master bridge0"});
    } catch (std::exception const& error) {
        SKIP(
            "this process cannot make networks of its own (it needs CAP_SYS_ADMIN and CAP_NET_ADMIN): "
            << error.what());
    }
}

} // namespace tenure::test
