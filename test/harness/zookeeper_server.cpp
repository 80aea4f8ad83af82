// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/zookeeper_server.hpp"

#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/zookeeper_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

namespace tenure::test
{

namespace
{

using namespace std::chrono_literals;

/// where Debian and Ubuntu put it; it names what else it needs
constexpr char const* jar = "/usr/share/java/zookeeper.jar";
/// and what writes its log, where it is there
constexpr char const* logging = "/usr/share/java/slf4j-simple.jar";

[[nodiscard]] std::string url_options(ZookeeperOptions const& options)
{
    return "?tick=" + std::to_string(options.tick.count()) +
           "ms&shortest_ttl=" + std::to_string(options.shortest_session.count()) +
           "ms&longest_ttl=" + std::to_string(options.longest_session.count()) + "ms";
}

} // namespace

ZookeeperServer::ZookeeperServer(ZookeeperOptions options)
    : ServerProcess(ScratchDirectory::Place::memory)
    , options_(std::move(options))
{
    // another process may take the free port before the server binds to it
    for (int attempt = 0; attempt < 5; ++attempt) {
        port_ = free_port();
        write_configuration({}, 0);
        start();
        if (eventually([this] { return !process_->running() || !mode().empty(); }, 60s, 20ms) && process_->running())
            return;
    }
    throw std::runtime_error("ZooKeeper did not start:\n" + log());
}

ZookeeperServer::ZookeeperServer(ZookeeperOptions options, std::vector<Member> const& members, std::size_t number)
    : ServerProcess(ScratchDirectory::Place::memory)
    , options_(std::move(options))
    , place_(members.at(number).place)
{
    port_ = members.at(number).client_port;
    write_configuration(members, number);
}

std::string ZookeeperServer::url() const
{
    return "zookeeper://" + place_.client_address + ":" + std::to_string(port_) + url_options(options_);
}

std::string ZookeeperServer::mode() const
{
    InNetwork const inside{place_.network.get()};
    auto const answer = zookeeper_word(port_, "srvr");
    auto const begin = answer.find("Mode: ");
    if (begin == std::string::npos)
        return {};
    return answer.substr(begin + 6, answer.find('\n', begin) - begin - 6);
}

void ZookeeperServer::start()
{
    Command command;
    command.arguments = {
        "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"};
    command.arguments.insert(command.arguments.end(), options_.java.begin(), options_.java.end());
    command.arguments.insert(
        command.arguments.end(),
        {"-cp", std::string(jar) + ":" + logging, "org.apache.zookeeper.server.quorum.QuorumPeerMain"});
    command.arguments.push_back(directory_.file("zoo.cfg"));
    command.output = directory_.file("output.log");
    InNetwork const inside{place_.network.get()};
    process_.emplace(command);
}

void ZookeeperServer::wait_until_serving()
{
    if (!eventually([this] { return !process_->running() || !mode().empty(); }, 60s, 20ms) || !process_->running())
        throw std::runtime_error(
            "the ZooKeeper server on port " + std::to_string(port_) + " does not serve; it says '" +
            zookeeper_word(port_, "srvr") + "' and has logged:\n" + log());
}

void ZookeeperServer::write_configuration(std::vector<Member> const& members, std::size_t number) const
{
    auto const data = directory_.file("data");
    std::filesystem::create_directories(data);
    std::ofstream file{directory_.file("zoo.cfg")};
    file << "tickTime=" << options_.tick.count() << "\ninitLimit=" << options_.init_ticks
         << "\nsyncLimit=" << options_.sync_ticks << "\nminSessionTimeout=" << options_.shortest_session.count()
         << "\nmaxSessionTimeout=" << options_.longest_session.count() << "\ndataDir=" << data
         << "\nclientPort=" << port_ << "\nclientPortAddress=" << place_.client_interface()
         << "\nadmin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n"
         << "standaloneEnabled=true\n";
    for (std::size_t i = 0; i < members.size(); ++i)
        file << "server." << i + 1 << "=" << members[i].place.peer_address << ":" << members[i].follower_port << ":"
             << members[i].election_port << "\n";
    for (auto const& line : options_.config)
        file << line << "\n";
    if (!file.flush())
        throw std::runtime_error("cannot write the configuration of ZooKeeper");
    if (!members.empty())
        std::ofstream{data + "/myid"} << number + 1 << "\n";
}

ZookeeperEnsemble::ZookeeperEnsemble(std::size_t size, ZookeeperOptions const& options)
    : ZookeeperEnsemble(std::vector<ServerPlace>(size), options)
{
}

ZookeeperEnsemble::ZookeeperEnsemble(std::vector<ServerPlace> const& places, ZookeeperOptions const& options)
{
    std::vector<ZookeeperServer::Member> members;
    std::set<std::uint16_t> taken;
    auto const port = [&taken] {
        for (;;)
            if (auto const found = free_port(); taken.insert(found).second)
                return found;
    };
    for (auto const& place : places)
        members.push_back({port(), port(), port(), place});
    for (std::size_t i = 0; i < members.size(); ++i)
        servers_.push_back(std::make_unique<ZookeeperServer>(options, members, i));
    for (auto const& server : servers_)
        server->start();
    wait_until_whole();
}

std::string ZookeeperEnsemble::url() const
{
    std::string text;
    for (auto const& server : servers_)
        text += (text.empty() ? "zookeeper://" : ",") + server->place_.client_address + ":" +
                std::to_string(server->port());
    auto const of_one = servers_.front()->url();
    return text + of_one.substr(of_one.find('?'));
}

std::optional<std::size_t> ZookeeperEnsemble::leader() const
{
    for (std::size_t i = 0; i < servers_.size(); ++i)
        if (servers_[i]->alive() && servers_[i]->mode() == "leader")
            return i;
    return std::nullopt;
}

std::optional<std::size_t> ZookeeperEnsemble::agreed_leader(std::optional<std::size_t> besides) const
{
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (i == besides)
            continue;
        auto const mode = servers_[i]->mode();
        if (mode == "leader" && !found)
            found = i;
        else if (mode != "follower")
            return std::nullopt;
    }
    return found;
}

void ZookeeperEnsemble::wait_until_whole()
{
    for (auto const& server : servers_)
        if (server->alive())
            server->wait_until_serving();
}

std::string missing_zookeeper()
{
#ifndef TENURE_TESTS_ZOOKEEPER
    return "tenure was built without its store on ZooKeeper, which needs libzookeeper_st";
#endif
    return find_program("java").empty() || !std::filesystem::exists(jar)
               ? "no ZooKeeper (" + std::string(jar) + ") or no java in PATH"
               : std::string();
}

void require_zookeeper()
{
    if (auto const missing = missing_zookeeper(); !missing.empty())
        SKIP(missing);
}

} // namespace tenure::test
