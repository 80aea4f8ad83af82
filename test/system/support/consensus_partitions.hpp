// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "harness/network_namespaces.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace tenure::test
{

/** Three members of a cluster, of either kind, in networks that can be cut. */
class ClusterNodes : Immovable
{
public:
    virtual ~ClusterNodes() = default;

    [[nodiscard]] virtual MemberNetworks const& networks() const = 0;
    [[nodiscard]] virtual std::string url() const = 0;
    /** On whom all agree, whatever `besides` says; unset if they do not. */
    [[nodiscard]] virtual std::optional<std::size_t> leader(std::optional<std::size_t> besides) const = 0;
    /** SIGKILL. */
    virtual void kill(std::size_t member) = 0;
    /** After `kill`, with the data that it had. */
    virtual void start(std::size_t member) = 0;
    /** SIGSTOP. */
    virtual void pause(std::size_t member) = 0;
    virtual void resume(std::size_t member) = 0;
};

/** The same for EtcdCluster and ZookeeperEnsemble. The thread that makes it is on the clients' side meanwhile. */
template <class Cluster>
class MembersOf final : public ClusterNodes
{
public:
    template <class Options>
    explicit MembersOf(Options const& options)
        : cluster_(networks_.places(), options)
    {
    }
    [[nodiscard]] MemberNetworks const& networks() const override { return networks_; }
    [[nodiscard]] std::string url() const override { return cluster_.url(); }
    [[nodiscard]] std::optional<std::size_t> leader(std::optional<std::size_t> besides) const override
    {
        return cluster_.agreed_leader(besides);
    }
    void kill(std::size_t member) override { cluster_.server(member).kill(); }
    void start(std::size_t member) override { cluster_.server(member).start(); }
    void pause(std::size_t member) override { cluster_.server(member).pause(); }
    void resume(std::size_t member) override { cluster_.server(member).resume(); }

private:
    MemberNetworks networks_{3};
    InNetwork inside_{networks_.clients()};
    Cluster cluster_;
};

/** Does to the leader, one after the other, what can happen to it, under leases of that ttl, and checks what was
 * promised: kept where a majority remains, ended in time where none does, never held twice. Each fault once, or for
 * TENURE_PARTITION_MINUTES. Writes what was seen to the test's output. */
void survive_partitions(ClusterNodes& members, std::chrono::milliseconds ttl);

} // namespace tenure::test
