// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/etcd_server.hpp"

#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

namespace tenure::test
{

namespace
{

/// the line that a server logs when it serves clients; 3.4 and 3.5, with and without TLS
bool says_ready(std::string const& log, std::size_t from)
{
    return log.find("ready to serve client requests", from) != std::string::npos &&
           (log.find("serving insecure client requests on", from) != std::string::npos ||
            log.find("serving client requests on", from) != std::string::npos ||
            log.find("serving client traffic", from) != std::string::npos);
}

} // namespace

EtcdServer::EtcdServer(EtcdServerOptions options)
    : EtcdServer(std::move(options), "m0", ServerPlace{})
{
    // Another process may take the free port before the server binds to it.
    for (int attempt = 0; attempt < 20; ++attempt) {
        choose_ports();
        members_ = name_ + "=" + peer_url();
        launch();
        if (wait_ready(0))
            return;
        if (log().find("address already in use") == std::string::npos)
            break;
        std::filesystem::remove_all(directory_.file("data"));
        std::filesystem::remove(directory_.file("etcd.log"));
    }
    throw std::runtime_error("etcd did not start:\n" + log());
}

EtcdServer::EtcdServer(EtcdServerOptions options, std::string name, ServerPlace place)
    : ServerProcess(ScratchDirectory::Place::memory)
    , options_(std::move(options))
    , name_(std::move(name))
    , place_(std::move(place))
{
}

void EtcdServer::choose_ports()
{
    port_ = free_port();
    peer_port_ = free_port();
}

std::string EtcdServer::peer_url() const
{
    return "http://" + place_.peer_address + ":" + std::to_string(peer_port_);
}

std::string EtcdServer::url() const
{
    return (options_.tls ? "etcds://127.0.0.1:" : "etcd://127.0.0.1:") + std::to_string(port_);
}

void EtcdServer::launch()
{
    std::string const scheme = options_.tls ? "https://" : "http://";
    auto const port = ":" + std::to_string(port_);
    std::vector<std::string> arguments{
        "etcd",
        "--name=" + name_,
        "--data-dir=" + directory_.file("data"),
        "--listen-client-urls=" + scheme + place_.client_interface() + port,
        "--advertise-client-urls=" + scheme + place_.client_address + port,
        "--listen-peer-urls=" + peer_url(),
        "--initial-advertise-peer-urls=" + peer_url(),
        "--initial-cluster=" + members_};
    if (options_.tls) {
        arguments.push_back("--cert-file=" + options_.tls_certificate);
        arguments.push_back("--key-file=" + options_.tls_key);
        if (!options_.tls_client_ca.empty()) {
            arguments.push_back("--trusted-ca-file=" + options_.tls_client_ca);
            arguments.emplace_back("--client-cert-auth");
        }
    }
    arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
    InNetwork const inside{place_.network.get()};
    process_.emplace(Command{std::move(arguments), {}, directory_.file("etcd.log")});
}

bool EtcdServer::wait_ready(std::size_t already_logged)
{
    auto const up = [&] { return !process_->running() || says_ready(log(), already_logged); };
    if (eventually(up, std::chrono::seconds{30}) && process_->running())
        return true;
    process_.reset();
    return false;
}

void EtcdServer::start()
{
    auto const again = [this] {
        auto const already_logged = log().size();
        launch();
        return wait_ready(already_logged);
    };
    // A connection of the killed server may still be on its way out of the port for a moment.
    if (!eventually(again, std::chrono::seconds{10}))
        throw std::runtime_error("etcd did not start again:\n" + log());
}

void EtcdServer::restart()
{
    kill();
    start();
}

std::pair<std::string, std::string> EtcdServer::itself_and_leader() const
{
    InNetwork const inside{place_.network.get()};
    std::string status;
    try {
        status = etcd_post(port_, "maintenance/status", "{}", std::chrono::seconds{1});
    } catch (std::runtime_error const&) {
        return {};
    }
    auto const number = [&status](std::string const& name) {
        auto const at = status.find("\"" + name + "\":\"");
        auto const begin = at + name.size() + 4;
        return at == std::string::npos ? std::string() : status.substr(begin, status.find('"', begin) - begin);
    };
    return {number("member_id"), number("leader")};
}

EtcdCluster::EtcdCluster(std::size_t members, EtcdServerOptions const& options)
    : EtcdCluster(std::vector<ServerPlace>(members), options)
{
}

EtcdCluster::EtcdCluster(std::vector<ServerPlace> const& places, EtcdServerOptions const& options)
{
    std::string list;
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto server = std::unique_ptr<EtcdServer>(new EtcdServer(options, "m" + std::to_string(i), places[i]));
        server->choose_ports();
        list += (i == 0 ? "" : ",") + server->name_ + "=" + server->peer_url();
        servers_.push_back(std::move(server));
    }
    for (auto const& server : servers_) {
        server->members_ = list;
        server->launch();
    }
    for (auto const& server : servers_)
        if (!server->wait_ready(0))
            throw std::runtime_error("a member of an etcd cluster did not start:\n" + server->log());
}

std::string EtcdCluster::url() const
{
    std::string text = servers_.front()->options_.tls ? "etcds://" : "etcd://";
    for (std::size_t i = 0; i < servers_.size(); ++i)
        text += (i == 0 ? "" : ",") + servers_[i]->place_.client_address + ":" + std::to_string(servers_[i]->port());
    return text;
}

std::size_t EtcdCluster::leader()
{
    std::size_t found = 0;
    auto const look = [&] {
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            if (!servers_[i]->running())
                continue;
            auto const status = etcdctl(servers_[i]->port(), {"endpoint", "status", "-w", "fields"});
            auto const field = [&status](std::string const& name) {
                auto const at = status.find("\"" + name + "\" : ");
                return at == std::string::npos
                           ? std::string()
                           : status.substr(at + name.size() + 5, status.find('\n', at) - at - name.size() - 5);
            };
            if (!field("MemberID").empty() && field("MemberID") == field("Leader")) {
                found = i;
                return true;
            }
        }
        return false;
    };
    if (!eventually(look, std::chrono::seconds{10}, std::chrono::milliseconds{50}))
        throw std::runtime_error("the etcd cluster has no leader");
    return found;
}

std::optional<std::size_t> EtcdCluster::agreed_leader(std::optional<std::size_t> besides) const
{
    std::optional<std::size_t> found;
    std::set<std::string> leaders;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (i == besides)
            continue;
        auto const [itself, leader] = servers_[i]->itself_and_leader();
        leaders.insert(leader);
        if (!itself.empty() && itself == leader)
            found = i;
    }
    return leaders.size() == 1 ? found : std::nullopt;
}

std::string etcdctl(std::uint16_t port, std::vector<std::string> const& arguments, std::string const& user)
{
    ScratchDirectory directory;
    Command command;
    command.arguments = {"etcdctl", "--endpoints=127.0.0.1:" + std::to_string(port), "--command-timeout=3s"};
    if (!user.empty())
        command.arguments.push_back("--user=" + user);
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment = {{"ETCDCTL_API", "3"}};
    command.output = directory.file("output");
    ChildProcess process{command};
    auto const status = process.wait_for(std::chrono::seconds{20});
    return status && status->code == 0 ? directory.text_of("output") : std::string();
}

void require_etcd()
{
    if (find_program("etcd").empty() || find_program("etcdctl").empty())
        SKIP("no etcd or no etcdctl in PATH");
}

} // namespace tenure::test
