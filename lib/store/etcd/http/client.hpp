// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "exchange.hpp"

#include <net/backoff.hpp>
#include <runtime/once_per_turn.hpp>
#include <runtime/timer.hpp>
#include <store/coroutine.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/etcd_config.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::etcd
{

/** Requests to a cluster: several connections to one of its endpoints, and the next endpoint where that fails, falls
 * silent or knows no leader. Everything on the strand.
 *
 *  A request waits for a connection until its `not_after`. What was written is never taken back: its reply is awaited,
 * for ten seconds at most, also after a switch to another endpoint.
 */
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

    /** The handler is never called inside this call. */
    void send(HttpRequest request, OutcomeHandler handler);

    /** For errors: the store, and which of its endpoints is in use where there are several. */
    [[nodiscard]] std::string where() const;

    void on_reachable(std::function<void()> handler) { reachable_ = std::move(handler); }
    void shortest_ttl(std::chrono::milliseconds ttl) noexcept
    {
        shortest_ttl_ = ttl;
        backoff_.protect(ttl);
    }
    /** Owners of requests have given up (see Deadline). */
    void drop_abandoned() { pump(); }

    // -- for streams, which have connections of their own --

    /** An unconnected one to the endpoint in use. */
    [[nodiscard]] std::shared_ptr<Connection> make_connection();
    [[nodiscard]] Instant connect_deadline() const;
    /** Requests carry it; empty before the login. */
    [[nodiscard]] std::string const& token() const noexcept { return token_; }
    [[nodiscard]] bool logs_in() const noexcept { return config_.credentials || !config_.username.empty(); }
    [[nodiscard]] bool needs_token() const noexcept { return logs_in() && token_.empty(); }
    void on_endpoint_switch(std::function<void()> handler) { endpoint_switched_ = std::move(handler); }

    void close() noexcept;
    [[nodiscard]] bool closed() const noexcept { return closed_; }

private:
    struct Pending {
        HttpRequest request;
        OutcomeHandler handler;
        /// sent before with a token that was refused
        bool again = false;
    };
    struct Link {
        std::shared_ptr<Connection> connection;
        std::size_t endpoint = 0;
        /// of the endpoint when it was made: connections of earlier epochs get no more requests
        std::uint64_t epoch = 0;
        Instant connect_by{};
    };

    /** A connection to the endpoint in use, in this state. */
    [[nodiscard]] bool is(Link const& link, Connection::State state) const noexcept
    {
        return link.epoch == endpoint_epoch_ && link.connection->state() == state;
    }
    [[nodiscard]] bool has_connection() const noexcept;
    void pump();
    void pump_soon();
    void drop_overdue();
    [[nodiscard]] Connection* idle_connection() const noexcept;
    void open_more();
    void open_one();
    void dispatch(Connection& connection, Pending pending);
    void lost(Connection const* connection, net::StreamError const& error);
    /** Unset: it is gone already. */
    [[nodiscard]] std::optional<Link> take_out(Connection const* connection);
    void connect_failed(std::size_t endpoint, net::StreamError const& error);
    /** To the next endpoint. What is under way at this one may be answered yet. */
    void switch_endpoint(std::uint64_t epoch);
    /** So that no more connections are left behind than there may be. */
    void give_up_the_oldest();
    /** By an answer, of a connection that works. */
    void sent_away(std::uint64_t epoch);
    void look_for_silence();
    void authenticate(Connection& connection);
    void authenticated(std::uint64_t epoch, Outcome outcome);
    void fail_queue();
    /** No endpoint could be reached: questions that wait for no second attempt learn why. */
    void refuse_questions();
    void answer_later(OutcomeHandler handler, Outcome outcome);
    [[nodiscard]] Outcome not_sent() const;
    [[nodiscard]] std::string name_of(std::size_t endpoint) const;
    void arm();
    void tick();

    std::shared_ptr<Runtime> runtime_;
    EtcdConfig config_;
    StreamFactory streams_;
    /// without secrets
    std::string name_;
    net::Backoff backoff_;
    /// index of the endpoint in use
    std::size_t endpoint_;
    std::uint64_t endpoint_epoch_ = 0;
    std::vector<Link> links_;
    std::deque<Pending> queue_;
    /// none is opened before this, after failures
    Instant open_after_{};
    /// nor beside one that works, after another one that could not be made
    Instant more_after_{};
    /// endpoints in a row that could not be reached
    std::size_t failed_in_a_row_ = 0;
    /// answers that sent us to another endpoint since a good one
    std::size_t sent_away_in_a_row_ = 0;
    std::size_t fatal_in_a_row_ = 0;
    /// why no connection could be made, or logging in failed; clear once one works
    net::StreamError trouble_;
    std::string token_;
    /// in which the login was begun that is under way; one at a member that says nothing must not hold up the next
    std::optional<std::uint64_t> login_epoch_;
    std::chrono::milliseconds shortest_ttl_{0};
    std::function<void()> reachable_;
    std::function<void()> endpoint_switched_;
    bool reached_ = false;
    /// an endpoint has been reached before
    bool has_worked_ = false;
    /// a renewal could not be sent, or leases are held: one is opened although no request waits
    bool wants_connection_ = false;
    OncePerTurn pump_;
    Timer timer_;
    Instant timer_at_ = Instant::max();
    bool closed_ = false;
};
using ClientPtr = std::shared_ptr<Client>;

/** Sends a request, as a step. The outcome is given as it is. */
[[nodiscard]] store::Step<Outcome> send(ClientPtr client, HttpRequest request);

} // namespace tenure::etcd
