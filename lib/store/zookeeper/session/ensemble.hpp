// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node_registry.hpp"
#include "runtime/names.hpp"
#include "session.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenure::zookeeper
{

/** State that all requests to one store share: its sessions and its registry of nodes. */
class Ensemble : public std::enable_shared_from_this<Ensemble>
{
public:
    /** @param make_link  null: links to real servers */
    Ensemble(std::shared_ptr<Runtime> runtime, ZookeeperConfig config, std::string name, MakeLink make_link = nullptr);
    Ensemble(Ensemble const&) = delete;
    Ensemble& operator=(Ensemble const&) = delete;
    ~Ensemble() = default;

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] ZookeeperConfig const& config() const noexcept { return *config_; }
    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    [[nodiscard]] NodeRegistry& registry() const noexcept { return *registry_; }
    [[nodiscard]] RangeNodes nodes(KeyRange const& range) const { return {config_->chroot, config_->username, range}; }

    /** The state that the attempts of one owner share while one of them is pending. */
    struct Attempts {
        std::string owner;
        /// All of them use the session of the first one, because the server finds a node of another session taken.
        SessionPtr session;
        /// their claim was given back: steps that were not sent are dropped
        bool given_back = false;
    };
    /** The pending attempts of an owner, which this one joins.
     *  @param bytes  of the node that it may make */
    [[nodiscard]] std::shared_ptr<Attempts>
    attempts_of(std::string const& owner, KeyRange const& range, std::chrono::milliseconds ttl, std::size_t bytes);
    /** Drops the steps of an owner's claims that were not sent: before its nodes are removed. */
    void give_back(std::string const& owner);
    /** The session for reads, watches and evictions, without leases. */
    [[nodiscard]] SessionPtr query_session();
    /** Makes a session without leases that requests this timeout. */
    [[nodiscard]] SessionPtr probe(std::chrono::milliseconds timeout);

    [[nodiscard]] Failure failure(Response const& response, std::string const& what) const
    {
        return failure_of(response, name_, what, config_->username);
    }

    /** The failure of a request for one key. */
    [[nodiscard]] Failure failure(Response const& response, KeyRange const& range, std::uint32_t index) const
    {
        auto const key = range.key(index);
        return failure(
            response, response.of_generation ? key + ": its generation, " + nodes(range).generation(index) : key);
    }

    /** Sets the handler for a session that has connected, or was lost with all its leases: waiting acquisitions may
     *  try again. */
    void on_reachable(std::function<void()> handler) { reachable_ = std::move(handler); }

    /** Sets the handler for a place that waits: the deletion of this node, or a change of its children, may let it
     * hold.
     */
    void on_waiting(std::function<void(KeyRange const&, std::string const& node)> handler)
    {
        waiting_ = std::move(handler);
    }
    void waits_for(KeyRange const& range, std::string const& node) const { waiting_(range, node); }

    /** Drops unsent requests whose owners have given up (see Deadline). */
    void drop_abandoned();

    void close() noexcept;

private:
    /** A copy, because a handler may begin or end sessions. */
    [[nodiscard]] std::vector<SessionPtr> sessions() const;
    [[nodiscard]] SessionPtr make(Session::Settings settings);
    /** A session for leases with this ttl that has room for a node. */
    [[nodiscard]] SessionPtr lease_session(std::chrono::milliseconds ttl, std::size_t bytes);
    void on_event(Session const& session, SessionEvent const& event);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<ZookeeperConfig const> config_;
    std::string name_;
    MakeLink make_link_;
    std::shared_ptr<NodeRegistry> registry_;
    /// for each ttl, in the order in which they are filled
    std::map<std::chrono::milliseconds, std::vector<SessionPtr>> lease_sessions_;
    /// by owner, while they are pending
    std::unordered_map<std::string, std::weak_ptr<Attempts>> attempts_;
    SessionPtr query_session_;
    /// all of them, including the probes
    std::vector<std::weak_ptr<Session>> sessions_;
    std::function<void()> reachable_;
    std::function<void(KeyRange const&, std::string const& node)> waiting_;
    bool closed_ = false;
};

using EnsemblePtr = std::shared_ptr<Ensemble>;

} // namespace tenure::zookeeper
