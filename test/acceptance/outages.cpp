// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "acceptance/outages.hpp"

#include "acceptance/dead_ports.hpp"
#include "harness/etcd_server.hpp"
#include "harness/redis_cluster.hpp"
#include "harness/redis_server.hpp"
#include "harness/sentinel_group.hpp"
#include "harness/zookeeper_server.hpp"
#include "system/support/certificate_authority.hpp"
#include "system/support/scripted_server.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace
{

using Made = std::variant<UnavailableStore, std::string>;

bool has_tls(std::string_view store)
{
    return store == "rediss" || store == "etcds";
}

std::size_t servers_of(std::string_view store)
{
    return store == "redlock" ? 3 : 1;
}

/** `store://host:port`, or as many of them as the store needs. */
std::string url_of(std::string_view store, std::vector<std::string> const& servers)
{
    auto url = std::string(store) + "://";
    for (auto const& server : servers)
        url += (url.ends_with('/') ? "" : ",") + server;
    return store == "redis+sentinel" ? url + "/mymaster" : url;
}

std::string local(std::uint16_t port)
{
    return "127.0.0.1:" + std::to_string(port);
}

/** Nothing of it works from the beginning. */
template <class Port>
UnavailableStore at_port(std::string_view store)
{
    auto const ports = std::make_shared<std::vector<std::unique_ptr<Port>>>();
    std::vector<std::string> servers;
    while (ports->size() < servers_of(store)) {
        ports->push_back(std::make_unique<Port>());
        servers.push_back(local(ports->back()->number()));
    }
    return {url_of(store, servers), {}, ports};
}

UnavailableStore with_names_that_hang(std::string_view store)
{
    std::vector<std::string> servers;
    while (servers.size() < servers_of(store))
        servers.push_back("server-" + std::to_string(servers.size()) + ".hangs.invalid:6379");
    return {url_of(store, servers), {}, {}};
}

/** Real servers, and what becomes of them. */
template <class Servers>
UnavailableStore struck(std::string url, std::shared_ptr<Servers> servers, std::function<void(Servers&)> strike)
{
    return {std::move(url), [servers, strike = std::move(strike)] { strike(*servers); }, servers};
}

template <class Server>
void stop(Server& server, Outage outage)
{
    if (outage == Outage::killed)
        server.kill();
    else
        server.pause();
}

struct TlsRedis {
    Authority authority;
    std::unique_ptr<RedisServer> server;
};

Made struck_redis(std::string_view store, Outage outage)
{
    if (store == "redis") {
        auto const server = std::make_shared<RedisServer>();
        return struck<RedisServer>(server->url(), server, [outage](RedisServer& of) { stop(of, outage); });
    }
    auto const tls = std::make_shared<TlsRedis>();
    tls->authority.issue("server", here);
    tls->server = std::make_unique<RedisServer>(tls_options(tls->authority, "server"));
    return struck<TlsRedis>(
        "rediss://127.0.0.1:" + std::to_string(tls->server->tls_port()) + "?tls_ca=" + tls->authority.ca(), tls,
        [outage](TlsRedis& of) { stop(*of.server, outage); });
}

Made struck_servers(std::string_view store, Outage outage)
{
    if (store == "redis" || store == "rediss")
        return struck_redis(store, outage);
    if (store == "redis+sentinel") {
        auto const group = std::make_shared<SentinelGroup>();
        return struck<SentinelGroup>(group->url(), group, [outage](SentinelGroup& of) {
            for (auto const& sentinel : of.sentinels())
                stop(*sentinel, outage);
            for (auto const& server : of.servers())
                stop(*server, outage);
        });
    }
    if (store == "redis+cluster") {
        auto const cluster = std::make_shared<RedisCluster>();
        return struck<RedisCluster>(cluster->url(), cluster, [outage](RedisCluster& of) {
            for (std::size_t node = 0; node < of.size(); ++node)
                stop(of.server(node), outage);
        });
    }
    if (store == "redlock") {
        auto const servers = std::make_shared<std::vector<std::unique_ptr<RedisServer>>>();
        std::vector<std::string> addresses;
        while (servers->size() < servers_of(store)) {
            servers->push_back(std::make_unique<RedisServer>());
            addresses.push_back(local(servers->back()->port()));
        }
        auto const url = url_of(store, addresses);
        return struck<std::vector<std::unique_ptr<RedisServer>>>(url, servers, [outage](auto& all) {
            for (auto const& server : all)
                stop(*server, outage);
        });
    }
    if (store == "etcd") {
        auto const server = std::make_shared<EtcdServer>();
        return struck<EtcdServer>(server->url(), server, [outage](EtcdServer& of) { stop(of, outage); });
    }
    if (store == "zookeeper") {
        auto const server = std::make_shared<ZookeeperServer>();
        return struck<ZookeeperServer>(server->url(), server, [outage](ZookeeperServer& of) { stop(of, outage); });
    }
    return "its connections are those of etcd without TLS, once they are made";
}

/** Answers every request with this error. */
UnavailableStore refusing(std::string_view store, std::string const& error)
{
    auto const servers = std::make_shared<std::vector<std::unique_ptr<ScriptedServer>>>();
    std::vector<std::string> addresses;
    while (servers->size() < servers_of(store)) {
        servers->push_back(std::make_unique<ScriptedServer>());
        servers->back()->behave([error](Words const&, std::string const&) { return Answer{"-" + error + "\r\n"}; });
        addresses.push_back(local(servers->back()->port()));
    }
    return {url_of(store, addresses), {}, servers};
}

Made loading(std::string_view store)
{
    if (store == "rediss")
        return "the error is that of redis without TLS";
    if (store.starts_with("redis") || store == "redlock")
        return refusing(store, "LOADING Redis is loading the dataset in memory");
    return "a server of this kind does not listen before it has its data";
}

Made wrong_password(std::string_view store)
{
    if (store == "zookeeper")
        return "a digest with another password is another user";
    if (store == "rediss" || store == "etcds")
        return "the answer is the same as without TLS";
    if (store != "etcd")
        return refusing(store, "WRONGPASS invalid username-password pair or user is disabled.");
    auto const server = std::make_shared<EtcdServer>();
    for (auto const& [path, body] : std::initializer_list<std::pair<char const*, char const*>>{
             {"auth/user/add", R"({"name":"root","password":"right"})"},
             {"auth/role/add", R"({"name":"root"})"},
             {"auth/user/grant", R"({"user":"root","role":"root"})"},
             {"auth/enable", "{}"}})
        (void)etcd_post(server->port(), path, body);
    return UnavailableStore{"etcd://root:wrong@127.0.0.1:" + std::to_string(server->port()), {}, server};
}

Made no_leader(std::string_view store)
{
    if (store == "redis+sentinel") {
        auto const group = std::make_shared<SentinelGroup>();
        auto url = group->url();
        url.replace(url.rfind('/') + 1, std::string::npos, "another");
        return UnavailableStore{url, {}, group};
    }
    if (store == "redis+cluster") {
        RedisServerOptions options;
        options.config = {"cluster-enabled yes", "cluster-port " + std::to_string(free_port())};
        auto const server = std::make_shared<RedisServer>(std::move(options));
        return UnavailableStore{url_of(store, {local(server->port())}), {}, server};
    }
    if (store == "etcd") {
        auto const cluster = std::make_shared<EtcdCluster>(3);
        cluster->server(1).kill();
        cluster->server(2).kill();
        return UnavailableStore{cluster->server(0).url(), {}, cluster};
    }
    if (store == "zookeeper") {
        auto const ensemble = std::make_shared<ZookeeperEnsemble>(3);
        ensemble->server(1).kill();
        ensemble->server(2).kill();
        return UnavailableStore{ensemble->server(0).url(), {}, ensemble};
    }
    return store == "etcds" ? "etcd without TLS stands for it" : "each server decides alone";
}

void require(std::string_view store)
{
    if (store.starts_with("etcd"))
        require_etcd();
    else if (store == "zookeeper")
        require_zookeeper();
    else
        require_redis();
}

} // namespace

std::string_view name_of(Outage outage) noexcept
{
    switch (outage) {
    case Outage::refused:
        return "refused port";
    case Outage::silent:
        return "black hole";
    case Outage::unanswered:
        return "accepts, never answers";
    case Outage::tls_hangs:
        return "TLS handshake hangs";
    case Outage::names_hang:
        return "name server hangs";
    case Outage::loading:
        return "loading";
    case Outage::wrong_password:
        return "wrong password";
    case Outage::no_leader:
        return "no master or leader";
    case Outage::killed:
        return "killed during the wait";
    case Outage::paused:
        return "paused during the wait";
    }
    return "unknown";
}

Made make_unavailable(std::string_view store, Outage outage)
{
    switch (outage) {
    case Outage::refused:
        return at_port<ClosedPort>(store);
    case Outage::silent:
        return at_port<SilentPort>(store);
    case Outage::unanswered:
        if (has_tls(store))
            return "the TLS handshake hangs, which is the next column";
        return at_port<MutePort>(store);
    case Outage::tls_hangs:
        if (!has_tls(store))
            return "no TLS";
        return at_port<MutePort>(store);
    case Outage::names_hang:
        return with_names_that_hang(store);
    case Outage::loading:
        return loading(store);
    case Outage::wrong_password:
        require(store);
        return wrong_password(store);
    case Outage::no_leader:
        require(store);
        return no_leader(store);
    case Outage::killed:
    case Outage::paused:
        require(store);
        return struck_servers(store, outage);
    }
    throw std::logic_error("no such outage");
}

} // namespace tenure::test
