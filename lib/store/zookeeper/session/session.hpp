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

/** One session with the ensemble, for the leases of one ttl or for everything else. It is opened when it is first
 *  needed, opened anew when it has expired, and closed when it was unused for a while.
 *
 *  While it is open it writes something every twelfth of its timeout (a tick at most, see SessionLife): a transaction
 *  that changes nothing, for all of its leases together.
 */
class Session : public ClientListener, public std::enable_shared_from_this<Session>
{
public:
    struct Settings {
        /// of the store, without secrets
        std::string name;
        /// the timeout that is asked for
        std::chrono::milliseconds timeout{};
        /// no leases rest on it
        bool holds_no_leases = false;
    };
    using EventHandler = std::function<void(Session const&, SessionEvent const&)>;
    /** Null: connected. */
    using ConnectedHandler = OneShot<void(Failure const*)>;
    /** A write, and what was read right after it. */
    using ProofHandler = OneShot<void(Response const& write, Response const& read)>;

    Session(std::shared_ptr<Runtime> runtime, std::shared_ptr<ZookeeperConfig const> config, Settings settings);
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session() override { close(false); }

    /** Calls back once, never inside this call: when it is connected, or `not_after` has come, or nothing will
     * help. */
    void when_connected(Deadline not_after, ConnectedHandler handler);
    /** Owners of requests have given up (see Deadline): requests that wait for a connection are dropped. */
    void drop_abandoned();
    [[nodiscard]] bool connected() const noexcept { return client_ != nullptr && client_->connected(); }

    [[nodiscard]] Failure why_not_connected() const;

    /** Sends the request now. Without a connection the response is ZINVALIDSTATE. */
    void ask(Request request, ResponseHandler handler);
    /** A write that changes nothing: a read behind it sees all writes that any client finished before now. */
    void write(ResponseHandler handler);
    /** Reads a node behind the next of the regular writes: now, unless the last one was too short a while ago. `wanted`
     * is called right before it leaves; false: both responses are ZINVALIDSTATE. */
    void read_with_next_write(std::string path, std::function<bool()> wanted, ProofHandler handler);

    /** Keeps the session open: it closes some time after its last user. */
    using Use = std::shared_ptr<void>;
    [[nodiscard]] Use use();

    /** The timeout that the server granted; what was asked for while there is no session. */
    [[nodiscard]] std::chrono::milliseconds timeout() const;
    /** Names the session; 0: none yet. */
    [[nodiscard]] std::int64_t id() const { return id_; }
    /** From when the timeout surely counts. */
    [[nodiscard]] Instant proven() const noexcept { return life_.proven(); }
    /** Ends the watches that `Request::watch` has begun for a node. */
    void unwatch(std::string const& path);
    /** The handler gets what becomes of the session (a refused login is an expiry), and the events of watches. */
    void on_event(EventHandler handler) { event_handler_ = std::move(handler); }

    /** @param end_session  tell the server, so that all nodes of the session go */
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
    /** Looks the servers up anew after the pause, unless the client is connected by then. */
    void search_after(Clock::duration pause);
    void report(SessionEvent const& event) const;
    void connected_now();
    void expired();
    /** Ends the client, if there is one. */
    void end_client(bool end_session) noexcept;
    /** Fails those requests that wait for a connection and fit. */
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
    /// what was found of each server last
    HostSearch::Addresses addresses_;
    /// what the client was given last
    std::string servers_;
    std::string search_trouble_;
    Timer search_timer_{*runtime_};
    /// in the present client
    std::int64_t id_ = 0;
    bool online_ = false;
    bool closed_ = false;
    SessionLife life_;
    std::vector<Waiting> waiting_;
    Timer waiting_timer_{*runtime_};
    /// of read_with_next_write
    std::vector<Reading> readings_;
    Instant last_regular_write_ = Instant::min();
    bool writing_ = false;
    Timer write_timer_{*runtime_};
    /// counts its users by its own use count
    std::shared_ptr<int> users_ = std::make_shared<int>(0);
    Instant last_used_{};
    Timer idle_timer_{*runtime_};
    bool told_other_timeout_ = false;
};

using SessionPtr = std::shared_ptr<Session>;

} // namespace tenure::zookeeper
