// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection_waiters.hpp"
#include "node_proofs.hpp"
#include "request_queue.hpp"
#include "runtime/names.hpp"
#include "runtime/repeat_schedule.hpp"
#include "runtime/timer.hpp"
#include "session_life.hpp"
#include "session_room.hpp"
#include "store/claim_window.hpp"
#include "store/zookeeper/client/host_search.hpp"
#include "store/zookeeper/client/link.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::zookeeper
{

/** One session with the ensemble, for leases of one ttl or for all other requests. It opens on first use, reopens after
 *  an expiry, and closes after a while without use.
 *
 *  While it is open it writes every twelfth of its timeout (at most a tick, see SessionLife): a transaction that
 *  changes nothing, for all of its leases together. Its other requests leave through a queue (RequestQueue); the
 *  regular write does not, because all leases depend on it. */
class Session final : public LinkListener, public std::enable_shared_from_this<Session>
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
    /// Claims that may have begun: as many as requests that may be unanswered, so that they use the connection fully.
    static constexpr std::size_t claims_at_a_time = 64;

    using EventHandler = std::function<void(Session const&, SessionEvent const&)>;
    /** Null: connected. */
    using ConnectedHandler = ConnectionWaiters::Handler;

    Session(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<ZookeeperConfig const> config, MakeLink make_link,
        Settings settings);
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session() { close(false); }

    /** Calls the handler once, never inside this call: when connected, at `not_after`, or after a permanent failure. */
    void when_connected(Deadline not_after, ConnectedHandler handler);
    /** Drops requests that wait and whose owners have given up (see Deadline). */
    void drop_abandoned();
    [[nodiscard]] bool connected() const noexcept { return client_ != nullptr && client_->connected(); }

    [[nodiscard]] Failure why_not_connected() const;

    /** Sends the request when it is its turn. Without a connection, or if the connection ends before, the response is
     *  ZINVALIDSTATE: the request was not sent. */
    void ask(Request request, ResponseHandler handler, Terms terms = {});
    /** Writes without a change: a later read sees all writes that any client finished before now. */
    void write(ResponseHandler handler);
    /** Proves what a node holds: by the next regular write if the node is known, otherwise after a read of it. */
    void prove(NodeProofs::Proof proof);
    /** Ends the watch of a node that is not to be proven again. */
    void forget(std::string const& path);

    /** Claims that have begun here, and those that wait for it. */
    [[nodiscard]] store::ClaimWindow& claims() noexcept { return *claims_; }
    /** The space that the nodes of this session may take. */
    [[nodiscard]] SessionRoom const& room() const noexcept { return room_; }

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
    void on_session_event(SessionEvent const& event) override;
    void on_no_server() override;
    /** Why there is no connection, in the words of the C client. */
    [[nodiscard]] std::string last_message() const;
    void open();
    void search();
    /** @param beside_client  the search began while there was one */
    void resolved(bool beside_client, HostSearch::Result const& found);
    void open_client(std::string const& servers);
    /** Resolves the servers again after the pause, unless the client is connected by then. */
    void search_after(Clock::duration pause);
    void report(SessionEvent const& event) const;
    void connected_now();
    void expired();
    /** Closes the client, if there is one. */
    void end_client(bool end_session) noexcept;
    static void fail(std::vector<ConnectedHandler> waiting, Failure const& why);
    void fail_all_waiting(Failure const& why);
    /** Nothing that has not left will leave: the connection ended. */
    void fail_unsent();
    void answer_waiting();
    void set_waiting_timer();
    /** Sends what has its turn. */
    void send_queued();
    /** @param queued  it came from the queue, which counts it */
    void send(RequestQueue::Queued one, bool queued);
    void drop(RequestQueue::Queued one, Response const& why);
    void read_known(NodeProofs::Proof proof);
    /** Answers the proofs of a write; a node that has changed since it was read is read again. */
    void decide(std::vector<NodeProofs::Proof> proofs, Response const& write);
    void note(Request::Kind kind, Response const& response);
    void write_regularly();
    void arm_regular_write();
    void idle_check();
    [[nodiscard]] bool wanted() const noexcept;
    [[nodiscard]] Clock::duration period() const;

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<ZookeeperConfig const> config_;
    MakeLink make_link_;
    Settings settings_;
    EventHandler event_handler_;
    /// null: not open
    std::shared_ptr<ServerLink> client_;
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
    ConnectionWaiters waiting_;
    Timer waiting_timer_{*runtime_};
    RequestQueue requests_;
    NodeProofs proofs_;
    SessionRoom room_;
    std::shared_ptr<store::ClaimWindow> claims_;
    Instant last_regular_write_ = Instant::min();
    bool writing_ = false;
    Timer write_timer_{*runtime_};
    /// its use count counts the users
    std::shared_ptr<int> users_ = std::make_shared<int>(0);
    Instant last_used_{};
    Timer idle_timer_{*runtime_};
    bool told_other_timeout_ = false;
    /// rounds in which no server answered: logged less and less often while an outage lasts
    RepeatSchedule failed_rounds_{RepeatSchedule::Ends::when_told};
};

using SessionPtr = std::shared_ptr<Session>;

} // namespace tenure::zookeeper
