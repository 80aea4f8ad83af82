// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/redis_cluster.hpp"

#include "harness/eventually.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tenure::test
{

namespace
{

constexpr std::size_t slots = 16384;

std::string bus_port_line(std::uint16_t port)
{
    return "cluster-port " + std::to_string(port);
}

/// "... 127.0.0.1:6381": the port
std::uint16_t port_in(std::string const& redirect)
{
    return static_cast<std::uint16_t>(std::stoul(redirect.substr(redirect.rfind(':') + 1)));
}

std::size_t count(std::string const& text, std::string_view word)
{
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size()))
        ++found;
    return found;
}

/// the number behind `field` ("calls=") in the line of INFO that begins with `line`
std::uint64_t number_in(std::string const& info, std::string const& line, std::string const& field)
{
    auto const at = info.find("\n" + line + ":");
    if (at == std::string::npos)
        return 0;
    auto const end = info.find('\n', at + 1);
    auto const found = info.find(field + "=", at);
    return found == std::string::npos || found > end ? 0 : std::stoull(info.substr(found + field.size() + 1));
}

} // namespace

RedisCluster::RedisCluster(RedisClusterOptions const& options)
{
    std::vector<std::uint16_t> bus_ports;
    for (std::size_t i = 0; i < masters * (1 + options.replicas); ++i) {
        // the usual one, port + 10000, need not be free, or a port at all
        bus_ports.push_back(free_port());
        auto node = options.node;
        node.config.insert(
            node.config.end(), {"cluster-enabled yes", bus_port_line(bus_ports.back()),
                                "cluster-node-timeout " + std::to_string(options.node_timeout.count()),
                                "repl-diskless-sync-delay 0", "cluster-replica-validity-factor 0",
                                // by default all masters refuse everything while one is missing
                                "cluster-require-full-coverage no", "enable-debug-command local"});
        servers_.push_back(std::make_unique<RedisServer>(std::move(node)));
        ids_.push_back(servers_.back()->client().call("CLUSTER", "MYID").text);
    }
    for (std::size_t i = 0; i < size(); ++i) {
        auto client = servers_[i]->client();
        client.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1);
        if (i < masters)
            client.call("CLUSTER", "ADDSLOTSRANGE", slots * i / masters, slots * (i + 1) / masters - 1);
        // everybody meets everybody: gossip alone takes seconds
        for (std::size_t other = 0; other < i; ++other)
            client.call("CLUSTER", "MEET", "127.0.0.1", port(other), bus_ports[other]);
    }
    join();
}

void RedisCluster::join()
{
    for (std::size_t i = masters; i < size(); ++i) {
        auto client = servers_[i]->client();
        auto const is_replica = [&] { return !client.send({"CLUSTER", "REPLICATE", ids_[i % masters]}).is_error(); };
        if (!eventually(is_replica, std::chrono::seconds{20}, std::chrono::milliseconds{20}))
            throw std::runtime_error("a node of the cluster did not become a replica");
    }
    if (!eventually(
            [this] { return what_is_missing().empty(); }, std::chrono::seconds{30}, std::chrono::milliseconds{20}))
        throw std::runtime_error("the cluster did not come up: " + what_is_missing());
}

std::string RedisCluster::what_is_missing()
{
    std::size_t leading = 0;
    for (std::size_t i = 0; i < size(); ++i)
        try {
            auto client = servers_[i]->client();
            auto const who = "node " + std::to_string(i) + ": ";
            auto const info = client.call("CLUSTER", "INFO").text;
            // without full coverage the state is ok before all slots are known
            if (info.find("cluster_state:ok") == std::string::npos ||
                info.find("cluster_slots_assigned:16384") == std::string::npos ||
                info.find("cluster_known_nodes:" + std::to_string(size())) == std::string::npos)
                return who + info;
            // all know who is whose replica, and that each of them lives
            auto const nodes = client.call("CLUSTER", "NODES").text;
            if (nodes.find("fail") != std::string::npos || count(nodes, "slave ") != size() - masters)
                return who + nodes;
            if (client.info("role") == "master") {
                ++leading;
                if (count(client.call("INFO", "replication").text, "state=online") != (size() - masters) / masters)
                    return who + "lacks a replica";
            } else if (client.info("master_link_status") != "up") {
                return who + "follows nobody";
            }
        } catch (std::exception const& error) {
            return "node " + std::to_string(i) + ": " + error.what();
        }
    return leading == masters ? std::string{} : std::to_string(leading) + " masters";
}

std::string RedisCluster::url() const
{
    std::string text = "redis+cluster://";
    for (std::size_t i = 0; i < masters; ++i)
        text += (i == 0 ? "" : ",") + ("127.0.0.1:" + std::to_string(port(i)));
    return text;
}

std::string RedisCluster::tls_url() const
{
    std::string text = "rediss+cluster://";
    for (std::size_t i = 0; i < masters; ++i)
        text += (i == 0 ? "" : ",") + ("127.0.0.1:" + std::to_string(servers_[i]->tls_port()));
    return text;
}

std::uint16_t RedisCluster::slot_of(std::string_view key)
{
    for (auto const& server : servers_)
        try {
            return static_cast<std::uint16_t>(server->client().call("CLUSTER", "KEYSLOT", std::string(key)).integer);
        } catch (std::exception const&) { // this one was killed
        }
    throw std::runtime_error("no node of the cluster answers");
}

std::size_t RedisCluster::owner_of(std::string_view key, std::size_t asked)
{
    auto const slot = slot_of(key);
    auto const reply = servers_[asked]->client().call("CLUSTER", "SLOTS");
    for (auto const& range : reply.elements)
        if (range.elements[0].integer <= slot && slot <= range.elements[1].integer)
            for (std::size_t i = 0; i < size(); ++i)
                if (range.elements[2].elements[1].integer == port(i))
                    return i;
    throw std::runtime_error("no node serves hash slot " + std::to_string(slot));
}

Reply RedisCluster::call(std::vector<std::string> const& arguments, std::string_view key)
{
    auto const slot_key = key.empty() ? std::string_view(arguments.at(1)) : key;
    Reply reply;
    auto const is_done = [&] {
        try {
            auto port = this->port(owner_of(slot_key));
            for (int i = 0; i < 5; ++i) {
                RedisClient client{port};
                if (reply.is_error() && reply.text.starts_with("ASK "))
                    client.call("ASKING");
                reply = client.send(arguments);
                if (!reply.is_error() || (!reply.text.starts_with("MOVED ") && !reply.text.starts_with("ASK ")))
                    break;
                port = port_in(reply.text);
            }
        } catch (std::exception const&) { // killed, or about to be followed by its replica
            return false;
        }
        bool const passes = reply.text.starts_with("CLUSTERDOWN") || reply.text.starts_with("TRYAGAIN") ||
                            reply.text.starts_with("MOVED ") || reply.text.starts_with("ASK ");
        return !reply.is_error() || !passes;
    };
    if (!eventually(is_done, std::chrono::seconds{20}, std::chrono::milliseconds{10}))
        throw std::runtime_error("the cluster does not answer: " + reply.text);
    return reply;
}

void RedisCluster::begin_migration(std::uint16_t slot, std::size_t from, std::size_t to)
{
    server(to).client().call("CLUSTER", "SETSLOT", slot, "IMPORTING", id(from));
    server(from).client().call("CLUSTER", "SETSLOT", slot, "MIGRATING", id(to));
}

void RedisCluster::migrate_keys(std::uint16_t slot, std::size_t from, std::size_t to)
{
    auto client = server(from).client();
    for (;;) {
        auto const keys = client.call("CLUSTER", "GETKEYSINSLOT", slot, 10);
        if (keys.elements.empty())
            return;
        for (auto const& key : keys.elements)
            client.call("MIGRATE", "127.0.0.1", port(to), key.text, 0, 5000);
    }
}

void RedisCluster::end_migration(std::uint16_t slot, std::size_t from, std::size_t to)
{
    // the new node first: otherwise no node serves the slot in between
    for (auto const node : {to, from})
        server(node).client().call("CLUSTER", "SETSLOT", slot, "NODE", id(to));
    for (std::size_t i = 0; i < size(); ++i)
        if (i != from && i != to && server(i).client().info("role") == "master")
            server(i).client().call("CLUSTER", "SETSLOT", slot, "NODE", id(to));
}

std::uint64_t RedisCluster::calls(std::string const& command)
{
    return sum("commandstats", "cmdstat_" + command + "/calls");
}

std::uint64_t RedisCluster::errors(std::string const& word)
{
    return sum("errorstats", "errorstat_" + word + "/count");
}

std::uint64_t RedisCluster::sum(std::string const& section, std::string const& field)
{
    auto const slash = field.find('/');
    std::uint64_t total = 0;
    for (auto const& server : servers_)
        try {
            auto const info = server->client().call("INFO", section).text;
            total += number_in(info, field.substr(0, slash), field.substr(slash + 1));
        } catch (std::exception const&) { // this one was killed
        }
    return total;
}

} // namespace tenure::test
