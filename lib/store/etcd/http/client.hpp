// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "exchange.hpp"
#include "request_queue.hpp"
#include "runtime/names.hpp"

#include <net/backoff.hpp>
#include <runtime/once_per_turn.hpp>
#include <runtime/repeated_causes.hpp>
#include <runtime/timer.hpp>
#include <store/claim_window.hpp>
#include <store/request.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/etcd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::etcd
{

/** Client of a cluster: several connections to one of its endpoints, and the next endpoint if that fails, falls silent
 *  or knows no leader. Everything runs on the strand.
 *
 *  A request waits for a connection until its `not_after`, in the queue of its `Line`. At most as many claims have
 * begun as there are connections, so each of them gets its next step, and held leases are renewed beside any number of
 *  claims. A written request is not cancelled: the client waits for its reply for at most ten seconds, also after a
 *  switch to another endpoint. */
class Client : public std::enable_shared_from_this<Client>
{
public:
    Client(std::shared_ptr<Runtime> runtime, EtcdConfig config, StreamFactory streams, std::string name);
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;
    ~Client();

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] std::shared_ptr<Runtime> const& shared_runtime() const noexcept { return runtime_; }
    [[nodiscard]] EtcdConfig const& config() const noexcept { return config_; }

    /** Sends a request. The handler is never called inside this call. */
    void send(HttpRequest request, OutcomeHandler handler);

    /** The claims that have begun, and those that wait for their turn. */
    [[nodiscard]] store::ClaimWindow& claims() const noexcept { return *window_; }
    /** Answers the unsent requests of this owner as not sent. */
    void drop_unsent(OwnerTag owner);

    /** For errors: the store, and the current endpoint if it has several. */
    [[nodiscard]] std::string where() const;

    void on_reachable(std::function<void()> handler) { reachable_ = std::move(handler); }
    void shortest_ttl(std::chrono::milliseconds ttl) noexcept
    {
        shortest_ttl_ = ttl;
        backoff_.protect(ttl);
    }
    /** Drops unwritten requests whose owners have given up (see Deadline). */
    void drop_abandoned();

    // -- for streams, which have separate connections --

    /** Makes an unconnected connection to the current endpoint. */
    [[nodiscard]] std::shared_ptr<Connection> make_connection();
    [[nodiscard]] Instant connect_deadline() const;
    /** The token for requests; empty before the login. */
    [[nodiscard]] std::string const& token() const noexcept { return token_; }
    [[nodiscard]] bool logs_in() const noexcept { return config_.credentials || !config_.username.empty(); }
    [[nodiscard]] bool needs_token() const noexcept { return logs_in() && token_.empty(); }
    void on_endpoint_switch(std::function<void()> handler) { endpoint_switched_ = std::move(handler); }

    void close() noexcept;
    [[nodiscard]] bool closed() const noexcept { return closed_; }

private:
    using Pending = RequestQueue::Entry;
    struct Link {
        std::shared_ptr<Connection> connection;
        std::size_t endpoint = 0;
        /// epoch of its creation: connections of earlier epochs get no more requests
        std::uint64_t epoch = 0;
        Instant connect_by{};
        /// of the claim whose step was written last; null: it was another request
        std::weak_ptr<store::ClaimWindow::Place> place = {};
    };

    /** True if the connection is to the current endpoint and in this state. */
    [[nodiscard]] bool is(Link const& link, Connection::State state) const noexcept
    {
        return link.epoch == endpoint_epoch_ && link.connection->state() == state;
    }
    [[nodiscard]] bool has_connection() const noexcept;
    void pump();
    void pump_soon();
    [[nodiscard]] Link* idle_link() noexcept;
    void open_more();
    void open_one();
    /** The connection is established, or idle again. */
    void ready(Connection const* connection, std::uint64_t epoch);
    /** True if the request may still be written, and is complete; else it was answered. */
    [[nodiscard]] bool complete(Pending& pending);
    void dispatch(Link& link, Pending pending);
    void answered(Pending pending, Outcome outcome, std::uint64_t epoch, std::string const& sent_token);
    /** Handles an error reply. True: the request goes out again. */
    [[nodiscard]] bool refused(Pending& pending, Outcome& outcome, std::uint64_t epoch, std::string const& sent_token);
    /** Notes that the present endpoint has answered. */
    void note_answer(std::string_view path, Outcome const& outcome, std::uint64_t epoch);
    void lost(Connection const* connection, net::StreamError const& error);
    /** Nullopt: the connection is already gone. */
    [[nodiscard]] std::optional<Link> take_out(Connection const* connection);
    void connect_failed(std::size_t endpoint, net::StreamError const& error);
    void log_end_of_outage();
    /** Switches to the next endpoint. Pending requests at the old one may still be answered. */
    void switch_endpoint(std::uint64_t epoch);
    /** Limits the number of old connections that wait for replies. */
    void give_up_the_oldest();
    /** Handles an answer of a working connection that asks for another endpoint. */
    void switch_on_request(std::uint64_t epoch);
    /** Gives up connections without an answer, and the endpoint if it answers nothing. */
    void check_silence();
    [[nodiscard]] Clock::duration patience() const noexcept;
    /** The endpoint has not answered: others may hold the places of its claims, and one connection tries the next. */
    void fall_silent();
    /** The store can be used (again). */
    void reachable();
    void probe();
    void authenticate(Connection& connection);
    void authenticated(std::uint64_t epoch, Outcome outcome);
    void fail_queue();
    /** Without a connection renewals fail at once. */
    void fail_renewals();
    void answer_unsent(std::vector<Pending> all, Outcome const& outcome);
    void answer_later(OutcomeHandler handler, Outcome outcome);
    [[nodiscard]] Outcome not_sent() const;
    /** As above, and certainly with an error. */
    [[nodiscard]] Outcome not_connected() const;
    [[nodiscard]] std::string name_of(std::size_t endpoint) const;
    void arm();
    void tick();

    std::shared_ptr<Runtime> runtime_;
    EtcdConfig config_;
    StreamFactory streams_;
    /// without secrets
    std::string name_;
    net::Backoff backoff_;
    /// index of the current endpoint
    std::size_t endpoint_;
    std::uint64_t endpoint_epoch_ = 0;
    std::vector<Link> links_;
    /// requests that wait for a connection
    RequestQueue queue_;
    /// claims that have begun, or wait for their turn
    store::ClaimWindowPtr window_;
    /// when the present endpoint last answered a request that needs a majority; before: when it was chosen
    Instant last_answer_{};
    /// when the latest request was written that the present endpoint has answered with a majority
    Instant latest_answered_{};
    /// when the queued steps of claims were last told that the endpoint answers
    Instant told_claims_{};
    /// the last endpoint fell silent, and the present one has not answered: one connection tries it
    bool doubtful_ = false;
    /// earliest time for a connection after failures
    Instant open_after_{};
    /// earliest time for an additional connection after one failed
    Instant more_after_{};
    /// consecutive endpoints that were unreachable
    std::size_t failed_in_a_row_ = 0;
    /// consecutive answers that asked for another endpoint
    std::size_t switch_requests_in_a_row_ = 0;
    std::size_t fatal_in_a_row_ = 0;
    /// why no connection could be made, or the login failed; clear while a connection works
    net::StreamError last_error_;
    std::string token_;
    /// epoch of the pending login; a login at a silent member must not delay the next one
    std::optional<std::uint64_t> login_epoch_;
    std::chrono::milliseconds shortest_ttl_{0};
    std::function<void()> reachable_;
    std::function<void()> endpoint_switched_;
    bool reached_ = false;
    /// why attempts to connect failed: logged less and less often while an outage lasts
    RepeatedCauses failed_attempts_{RepeatSchedule::Ends::when_told};
    /// a request failed or stayed unanswered since the store was last reachable: its sender asks again
    bool owes_notice_ = true;
    /// an endpoint was reached before
    bool has_worked_ = false;
    /// opens a connection without waiting requests, because a renewal was not sent, or leases are held
    bool wants_connection_ = false;
    OncePerTurn pump_;
    Timer timer_;
    bool closed_ = false;
};
using ClientPtr = std::shared_ptr<Client>;

/** Sends a request as a step. The step returns the outcome unchanged. */
[[nodiscard]] store::Step<Outcome> send(ClientPtr client, HttpRequest request);

} // namespace tenure::etcd
