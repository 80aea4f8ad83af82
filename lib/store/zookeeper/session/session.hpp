// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/timer.hpp"
#include "session_life.hpp"
#include "store/zookeeper/client/client.hpp"
#include "store/zookeeper/client/host_search.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::zookeeper
{

/** One session with the ensemble, for the leases of one ttl or for all other requests. It opens on first use, reopens
 *  after an expiry, and closes after a while without use.
 *
 *  While it is open it writes every twelfth of its timeout (at most a tick, see SessionLife): a transaction that
 *  changes nothing, for all of its leases together. */
class Session : public ClientListener, public std::enable_shared_from_this<Session>
{
public:
    struct Settings {
        /// name of the store, without secrets
        std::string name;
        /// the requested timeout
        std::chrono::milliseconds timeout{};
        /// not used by leases
        bool holds_no_leases = false;
    };
    using EventHandler = std::function<void(Session const&, SessionEvent const&)>;
    /** Null: connected. */
    using ConnectedHandler = OneShot<void(Failure const*)>;
    /** Responses to a write, and to the read right after it. */
    using ProofHandler = OneShot<void(Response const& write, Response const& read)>;

    Session(std::shared_ptr<Runtime> runtime, std::shared_ptr<ZookeeperConfig const> config, Settings settings);
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session() override { close(false); }

    /** Calls the handler once, never inside this call: when connected, at `not_after`, or after a permanent failure. */
    void when_connected(Deadline not_after, ConnectedHandler handler);
    /** Drops requests that wait for a connection and whose owners have given up (see Deadline). */
    void drop_abandoned();
    [[nodiscard]] bool connected() const noexcept { return client_ != nullptr && client_->connected(); }

    [[nodiscard]] Failure why_not_connected() const;

    /** Sends the request now. Without a connection the response is ZINVALIDSTATE. */
    void ask(Request request, ResponseHandler handler);
    /** Writes without a change: a later read sees all writes that any client finished before now. */
    void write(ResponseHandler handler);
    /** Reads a node after the next regular write: now, unless the last one was too recent. `wanted` is called right
     *  before it is sent; false: both responses are ZINVALIDSTATE. */
    void read_with_next_write(std::string path, std::function<bool()> wanted, ProofHandler handler);

    /** Keeps the session open: it closes some time after its last use. */
    using Use = std::shared_ptr<void>;
    [[nodiscard]] Use use();

    /** The granted timeout; the requested one without a session. */
    [[nodiscard]] std::chrono::milliseconds timeout() const;
    /** The server's number of the session; 0: none yet. */
    [[nodiscard]] std::int64_t id() const { return id_; }
    /** Lower bound for the start of the timeout. */
    [[nodiscard]] Instant proven() const noexcept { return life_.proven(); }
    /** Ends the watches that `Request::watch` has begun for a node. */
    void unwatch(std::string const& path);
    /** Sets the handler of session events (a refused login counts as an expiry) and of watches. */
    void on_event(EventHandler handler) { event_handler_ = std::move(handler); }

    /** @param end_session  tell the server, so that it deletes all nodes of the session */
    void close(bool end_session) noexcept;

private:
    struct Waiting {
        Deadline not_after;
        ConnectedHandler handler;
    };
    struct Reading {
        std::string path;
        std::function<bool()> wanted;
        ProofHandler handler;
    };

    void on_session_event(SessionEvent const& event) override;
    void on_no_server() override;
    void open();
    void search();
    /** @param beside_client  the search began while there was one */
    void resolved(HostSearch::Result const& found, bool beside_client);
    void open_client(std::string const& servers);
    /** Resolves the servers again after the pause, unless the client is connected by then. */
    void search_after(Clock::duration pause);
    void report(SessionEvent const& event) const;
    void connected_now();
    void expired();
    /** Closes the client, if there is one. */
    void end_client(bool end_session) noexcept;
    /** Fails the waiting requests for which `fits` is true. */
    void fail_waiting(std::function<bool(Waiting const&)> const& fits, Failure const& why);
    void fail_all_waiting(Failure const& why);
    void fail_readings();
    void answer_waiting();
    void set_waiting_timer();
    void note(Request::Kind kind, Response const& response);
    void write_regularly();
    void arm_regular_write();
    void idle_check();
    [[nodiscard]] bool wanted() const noexcept;
    [[nodiscard]] Clock::duration period() const;

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<ZookeeperConfig const> config_;
    Settings settings_;
    EventHandler event_handler_;
    /// null: not open
    std::shared_ptr<Client> client_;
    std::unique_ptr<HostSearch> search_;
    /// the last addresses of each server
    HostSearch::Addresses addresses_;
    /// the last list of servers for the client
    std::string servers_;
    std::string search_error_;
    Timer search_timer_{*runtime_};
    /// of the current client
    std::int64_t id_ = 0;
    bool online_ = false;
    bool closed_ = false;
    SessionLife life_;
    std::vector<Waiting> waiting_;
    Timer waiting_timer_{*runtime_};
    /// requests of read_with_next_write
    std::vector<Reading> readings_;
    Instant last_regular_write_ = Instant::min();
    bool writing_ = false;
    Timer write_timer_{*runtime_};
    /// its use count counts the users
    std::shared_ptr<int> users_ = std::make_shared<int>(0);
    Instant last_used_{};
    Timer idle_timer_{*runtime_};
    bool told_other_timeout_ = false;
};

using SessionPtr = std::shared_ptr<Session>;

} // namespace tenure::zookeeper
