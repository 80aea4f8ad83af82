// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/sentinel_group.hpp"

#include "harness/eventually.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

namespace tenure::test
{

// -- a sentinel --

SentinelProcess::SentinelProcess(SentinelGroupOptions const& options, std::uint16_t master_port)
    : password_(options.sentinel_password)
{
    // Another process may take the free port before the sentinel binds to it.
    for (int attempt = 0; attempt < 20; ++attempt) {
        port_ = free_port();
        tls_port_ = options.sentinel_tls ? free_port() : std::uint16_t{0};
        write_configuration(options, master_port);
        if (try_start())
            return;
        if (log().find("Address already in use") == std::string::npos)
            break;
        std::filesystem::remove(directory_.file("sentinel.log"));
    }
    throw std::runtime_error("the sentinel did not start:\n" + log());
}

RedisClient SentinelProcess::client() const
{
    RedisClient client{port_};
    if (!password_.empty())
        client.call("AUTH", password_);
    return client;
}

std::string SentinelProcess::master_field(std::string const& name) const
{
    auto const reply = client().send({"SENTINEL", "MASTER", SentinelGroup::master_name});
    for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2)
        if (reply.elements[i].text == name)
            return reply.elements[i + 1].text;
    return {};
}

void SentinelProcess::start()
{
    if (!eventually([this] { return try_start(); }, std::chrono::seconds{10}))
        throw std::runtime_error("the sentinel did not start again:\n" + log());
}

bool SentinelProcess::try_start()
{
    // Its own log proves that it is this sentinel, not another program that took the port, that is listening.
    auto const already_logged = log().size();
    process_.emplace(Command{
        {redis_server_program(), directory_.file("sentinel.conf"), "--sentinel"}, {}, directory_.file("output.log")});
    auto const up = [&] {
        return !process_->running() || log().find("Sentinel ID is", already_logged) != std::string::npos;
    };
    if (eventually(up, std::chrono::seconds{20}) && process_->running())
        return true;
    process_.reset();
    return false;
}

void SentinelProcess::write_configuration(SentinelGroupOptions const& options, std::uint16_t master_port) const
{
    std::ofstream file{directory_.file("sentinel.conf")};
    auto const* const name = SentinelGroup::master_name;
    auto const quorum = options.sentinels / 2 + 1;
    file << "bind 127.0.0.1\nport " << port_ << "\nprotected-mode no\ndaemonize no\n"
         << "dir " << directory_.path() << "\nlogfile " << directory_.path() << "/sentinel.log\n";
    if (options.sentinel_tls)
        file << "tls-port " << tls_port_ << "\ntls-cert-file " << options.tls_certificate << "\ntls-key-file "
             << options.tls_key << "\ntls-ca-cert-file " << options.tls_ca << "\ntls-auth-clients no\n";
    file << "sentinel monitor " << name << " 127.0.0.1 " << master_port << " " << quorum << "\n"
         << "sentinel down-after-milliseconds " << name << " " << options.down_after.count()
         << "\n"
         // after a failed attempt the next one comes in twice that time
         << "sentinel failover-timeout " << name << " 5000\n"
         << "sentinel parallel-syncs " << name << " 5\n";
    for (auto const& line : options.sentinel_config)
        file << line << "\n";
    if (!file.flush())
        throw std::runtime_error("cannot write the configuration of a sentinel");
}

// -- the group --

SentinelGroup::SentinelGroup()
    : SentinelGroup(SentinelGroupOptions{})
{
}

SentinelGroup::SentinelGroup(SentinelGroupOptions options)
    : options_(std::move(options))
{
    RedisServerOptions server_options;
    server_options.config = options_.server_config;
    // a replica gets the master's data at once instead of waiting for others that want it too
    server_options.config.emplace_back("repl-diskless-sync-delay 0");
    servers_.push_back(std::make_unique<RedisServer>(server_options));
    server_options.config.push_back("replicaof 127.0.0.1 " + std::to_string(servers_.front()->port()));
    for (std::size_t i = 0; i < options_.replicas; ++i)
        servers_.push_back(std::make_unique<RedisServer>(server_options));
    for (std::size_t i = 0; i < options_.sentinels; ++i)
        sentinels_.push_back(std::make_unique<SentinelProcess>(options_, servers_.front()->port()));
    wait_until_whole();
}

std::string SentinelGroup::url() const
{
    std::string hosts;
    for (auto const& sentinel : sentinels_)
        hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(sentinel->port()));
    return "redis+sentinel://" + hosts + "/" + master_name;
}

RedisServer& SentinelGroup::master()
{
    std::map<std::string, std::size_t> votes;
    for (auto const& sentinel : sentinels_)
        if (sentinel->alive())
            ++votes[sentinel->master_field("port")];
    auto const most =
        std::ranges::max_element(votes, [](auto const& left, auto const& right) { return left.second < right.second; });
    if (most == votes.end())
        throw std::runtime_error("no sentinel lives that could name the master");
    return server(index_of(static_cast<std::uint16_t>(std::stoul(most->first))));
}

std::size_t SentinelGroup::index_of(std::uint16_t port) const
{
    for (std::size_t i = 0; i < servers_.size(); ++i)
        if (servers_[i]->port() == port)
            return i;
    throw std::runtime_error("no server of the group has port " + std::to_string(port));
}

RedisServer* SentinelGroup::agreed_master(RedisServer const* except)
{
    std::string agreed;
    for (auto const& sentinel : sentinels_) {
        if (!sentinel->alive())
            continue;
        auto const port = sentinel->master_field("port");
        if (port.empty() || (!agreed.empty() && port != agreed))
            return nullptr;
        agreed = port;
    }
    if (agreed.empty())
        return nullptr;
    auto& named = server(index_of(static_cast<std::uint16_t>(std::stoul(agreed))));
    if (&named == except)
        return nullptr;
    try {
        return named.client().info("role") == "master" ? &named : nullptr;
    } catch (std::exception const&) {
        return nullptr; // it is dead, but the sentinels have not noticed yet
    }
}

RedisServer& SentinelGroup::wait_for_another_master(RedisServer const& before)
{
    RedisServer* now = nullptr;
    auto const agreed = [&] {
        now = agreed_master(&before);
        return now != nullptr;
    };
    if (!eventually(agreed, std::chrono::seconds{60}, std::chrono::milliseconds{20}))
        throw std::runtime_error(
            "the sentinels put no other master in the place of port " + std::to_string(before.port()));
    return *now;
}

void SentinelGroup::wait_until_whole()
{
    std::string missing;
    auto const whole = [&] {
        missing = what_is_missing();
        return missing.empty();
    };
    if (!eventually(whole, std::chrono::seconds{60}, std::chrono::milliseconds{50}))
        throw std::runtime_error("the group of sentinels is not whole: " + missing);
}

std::string SentinelGroup::what_is_missing()
{
    for (auto const& sentinel : sentinels_) {
        if (!sentinel->alive())
            return "a sentinel was killed";
        auto const where = "sentinel on port " + std::to_string(sentinel->port());
        if (sentinel->master_field("num-slaves") != std::to_string(options_.replicas))
            return where + " does not know all replicas";
        if (sentinel->master_field("num-other-sentinels") != std::to_string(options_.sentinels - 1))
            return where + " does not know all sentinels";
        if (sentinel->master_field("flags") != "master")
            return where + " sees the master as " + sentinel->master_field("flags");
        for (auto const& replica : sentinel->client().call("SENTINEL", "REPLICAS", master_name).elements) {
            std::map<std::string, std::string> fields;
            for (std::size_t i = 0; i + 1 < replica.elements.size(); i += 2)
                fields[replica.elements[i].text] = replica.elements[i + 1].text;
            if (fields["flags"] != "slave" || fields["master-link-status"] != "ok")
                return where + " sees a replica as " + fields["flags"] + ", its link as " +
                       fields["master-link-status"];
        }
    }
    try {
        auto const connected = master().client().info("connected_slaves");
        return connected == std::to_string(options_.replicas) ? "" : "the master has " + connected + " replicas";
    } catch (std::exception const& error) {
        return std::string("the master's answer: ") + error.what();
    }
}

} // namespace tenure::test
