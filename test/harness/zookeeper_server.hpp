// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"
#include "harness/network_namespaces.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/server_process.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::test
{

struct ZookeeperOptions {
    std::chrono::milliseconds tick{100};
    std::chrono::milliseconds shortest_session{200};
    std::chrono::milliseconds longest_session{60'000};
    /// how long one that was elected waits for a majority to follow it, in ticks
    int init_ticks = 100;
    /// how many ticks a follower may be behind, or silent, before the leader is given up, or gives it up
    int sync_ticks = 20;
    /// further lines of its configuration
    std::vector<std::string> config = {};
    /// for the Java machine: `-Dzookeeper.enforce.auth.enabled=true`
    std::vector<std::string> java = {};
};

/** A real ZooKeeper server, alone or a member of an ensemble, on free ports, of the loopback interface unless it has a
 * place of its own, with a directory of its own. Both end with the object. */
class ZookeeperServer : public ServerProcess
{
public:
    struct Member {
        std::uint16_t client_port = 0;
        std::uint16_t follower_port = 0;
        std::uint16_t election_port = 0;
        ServerPlace place = {};
    };

    explicit ZookeeperServer(ZookeeperOptions options = {});
    /** Member `number` (from 0) of an ensemble; `start` begins it. */
    ZookeeperServer(ZookeeperOptions options, std::vector<Member> const& members, std::size_t number);

    /** `zookeeper://HOST:PORT?tick=...`, with the ttl limits that it has. */
    [[nodiscard]] std::string url() const;

    /** "standalone", "leader", "follower"; empty while it does not serve clients. */
    [[nodiscard]] std::string mode() const;
    /** Starts it again after `kill`, with the data that it had; returns at once. */
    void start();
    /** @throws std::runtime_error if it does not serve within a minute */
    void wait_until_serving();
    [[nodiscard]] std::string log() const { return directory_.text_of("output.log"); }

private:
    friend class ZookeeperEnsemble;

    void write_configuration(std::vector<Member> const& members, std::size_t number) const;

    ZookeeperOptions options_;
    ServerPlace place_;
};

/** Servers that elect a leader. */
class ZookeeperEnsemble
{
public:
    explicit ZookeeperEnsemble(std::size_t size = 3, ZookeeperOptions const& options = {});
    /** A server in each place. */
    explicit ZookeeperEnsemble(std::vector<ServerPlace> const& places, ZookeeperOptions const& options = {});

    /** `zookeeper://HOST:PORT,...?tick=...` */
    [[nodiscard]] std::string url() const;
    [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
    [[nodiscard]] ZookeeperServer& server(std::size_t index) { return *servers_.at(index); }
    [[nodiscard]] ZookeeperServer const& server(std::size_t index) const { return *servers_.at(index); }
    /** The living server that says that it leads; unset if none does. */
    [[nodiscard]] std::optional<std::size_t> leader() const;
    /** The server that leads while all others follow, whatever `besides` says; unset if it is not so. */
    [[nodiscard]] std::optional<std::size_t> agreed_leader(std::optional<std::size_t> besides = std::nullopt) const;
    /** @throws std::runtime_error if not all living servers serve within a minute */
    void wait_until_whole();

private:
    std::vector<std::unique_ptr<ZookeeperServer>> servers_;
};

/** Why no server can be started on this machine; empty if one can. */
[[nodiscard]] std::string missing_zookeeper();

/** Skips the running test when this machine has no ZooKeeper or no Java. */
void require_zookeeper();

/** Fixture: a ZooKeeper server of the test's own. Skips the test where ZooKeeper is not installed. */
struct ZookeeperTest {
    ZookeeperServer server{(require_zookeeper(), ZookeeperOptions{})};
};

} // namespace tenure::test
