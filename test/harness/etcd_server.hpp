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
#include <utility>
#include <vector>

namespace tenure::test
{

struct EtcdServerOptions {
    /// further arguments of each server, e.g. "--quota-backend-bytes=1000000"
    std::vector<std::string> arguments = {};
    /// clients connect with TLS; needs the three files below (PEM)
    bool tls = false;
    std::string tls_certificate = {};
    std::string tls_key = {};
    /// the authority of the certificates that clients must show; empty: they need none
    std::string tls_client_ca = {};
};

/** One member of a cluster: a real etcd on free ports, of the loopback interface unless it has a place of its own, with
 * its data in a directory of its own. Both end with the object. */
class EtcdServer : public ServerProcess
{
public:
    /** A cluster of one. */
    explicit EtcdServer(EtcdServerOptions options = {});

    /** `etcd://127.0.0.1:PORT` */
    [[nodiscard]] std::string url() const;

    /** Starts it again after `kill`, on the same ports and data, and waits until it answers. */
    void start();
    void restart();
    /** The same as `start`, for a member whose cluster has no majority before others are there too. */
    void start_without_waiting() { launch(); }
    [[nodiscard]] bool running() { return process_ && process_->running(); }
    /** Its log so far. */
    [[nodiscard]] std::string log() const { return directory_.text_of("etcd.log"); }

private:
    friend class EtcdCluster;

    /** Of a cluster; ports chosen, nothing started. */
    EtcdServer(EtcdServerOptions options, std::string name, ServerPlace place);
    void choose_ports();
    [[nodiscard]] std::string peer_url() const;
    void launch();
    /** False if it ended before it was ready. */
    [[nodiscard]] bool wait_ready(std::size_t already_logged);
    /** The IDs of itself and of whom it takes for the leader; empty where it says none. */
    [[nodiscard]] std::pair<std::string, std::string> itself_and_leader() const;

    EtcdServerOptions options_;
    std::string name_;
    ServerPlace place_;
    /// name=peer URL of all members
    std::string members_;
    std::uint16_t peer_port_ = 0;
};

/** ClusterNodes of one cluster. */
class EtcdCluster
{
public:
    explicit EtcdCluster(std::size_t members = 3, EtcdServerOptions const& options = {});
    /** A member in each place. */
    explicit EtcdCluster(std::vector<ServerPlace> const& places, EtcdServerOptions const& options = {});

    [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
    [[nodiscard]] EtcdServer& server(std::size_t index) { return *servers_.at(index); }
    /** `etcd://HOST:PORT,HOST:PORT,...` */
    [[nodiscard]] std::string url() const;
    /** Index of the member that leads, as the others that run see it. @throws std::runtime_error if none does within
     * ten seconds */
    [[nodiscard]] std::size_t leader();
    /** Index of the member that all others, and itself, take for the leader, whatever `besides` says; unset if they do
     * not agree. */
    [[nodiscard]] std::optional<std::size_t> agreed_leader(std::optional<std::size_t> besides = std::nullopt) const;

private:
    std::vector<std::unique_ptr<EtcdServer>> servers_;
};

/** Runs etcdctl (API 3) on the endpoint and gives what it wrote; empty if it failed. A user is name:password. */
[[nodiscard]] std::string
etcdctl(std::uint16_t port, std::vector<std::string> const& arguments, std::string const& user = {});

/** Posts a body to the JSON gateway below /v3/ and gives the reply's body, whatever its status.
 *  @throws std::runtime_error if there is none */
[[nodiscard]] std::string etcd_post(
    std::uint16_t port, std::string const& path, std::string const& body,
    std::chrono::milliseconds limit = std::chrono::seconds{10});

/** Skips the running test when this machine has no etcd. */
void require_etcd();

/** Fixture: an etcd server of the test's own. Skips the test where etcd is not installed. */
struct EtcdTest {
    EtcdServer server{(require_etcd(), EtcdServerOptions{})};
};

} // namespace tenure::test
