// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "runtime/names.hpp"
#include "store/postgresql/protocol.hpp"

#include <net/backoff.hpp>
#include <runtime/once_per_turn.hpp>
#include <runtime/repeated_causes.hpp>
#include <runtime/timer.hpp>
#include <store/claim_window.hpp>
#include <store/request.hpp>
#include <tenure/backend/backend.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <variant>

namespace tenure::postgresql
{

/** A statement that waits for its turn. */
struct Query {
    /// in the order in which they are served
    enum class Line : std::uint8_t { renewals, releases, claims };

    Line line = Line::claims;
    Statement statement = {};
    Deadline not_after = {};
    /// how many keys the statement may look at
    std::uint32_t keys = 1;
    /// a transaction of its own
    bool alone = false;
    /// the range whose waiters are notified afterwards; empty: none
    std::string announces = {};
    /// called just before it is written, to complete it; false: nothing is left to be written
    std::function<bool(Query&)> complete = {};

    [[nodiscard]] bool is_renewal() const noexcept { return line == Line::renewals; }
};

/** The result of a committed statement. */
struct Answer {
    Result result;
    /// just before it was written
    Instant since;
    /// the standbys that the server was to wait for may not have it
    bool unreplicated;
};
using Outcome = std::variant<Answer, Failure>;
using OutcomeHandler = OneShot<void(Outcome&&)>;

/** Client of a database: one connection for all requests, and the next host if that fails.
 *
 *  What is sent while a batch is under way, or in one turn of the loop, is the next batch: one transaction, so one
 * flush of the server for all. A connection that is silent is left behind, where late answers still count, and another
 * one takes over. A written request is never cancelled. Everything runs on the strand. */
class Client final : public std::enable_shared_from_this<Client>, public ConnectionOwner
{
public:
    Client(std::shared_ptr<Runtime> runtime, PostgresqlConfig config, std::string name);

    [[nodiscard]] std::shared_ptr<Runtime> const& runtime() const noexcept { return runtime_; }
    [[nodiscard]] std::shared_ptr<PostgresqlConfig const> const& config() const noexcept { return config_; }
    [[nodiscard]] std::string where() const;
    /** The statement for the schema of this store. */
    [[nodiscard]] std::string sql(std::string_view text) const { return in_schema(text, config_->schema); }

    /** @param text  a statement for the schema `tenure` */
    [[nodiscard]] Query
    query(std::string_view text, Values values, Deadline not_after, Query::Line line = Query::Line::claims) const
    {
        return {line, {sql(text), std::move(values)}, std::move(not_after)};
    }

    /** The handler is never called inside this call. */
    void send(Query query, OutcomeHandler handler);
    [[nodiscard]] store::ClaimWindow& claims() const noexcept { return *window_; }

    void on_reachable(std::function<void()> handler) { reachable_ = std::move(handler); }
    void shortest_ttl(std::chrono::milliseconds ttl) noexcept
    {
        shortest_ttl_ = ttl;
        backoff_.protect(ttl);
    }
    void drop_abandoned();
    void close() noexcept;

    /** The connection of the requests; null: none is ready. */
    [[nodiscard]] ConnectionPtr connection() const noexcept { return ready_ ? current_ : nullptr; }
    void want_connection();
    /** Notified of `connection`, each time that it is another one, and of its notifications. */
    void listen(std::function<void(std::string const* channel)> listener) { listener_ = std::move(listener); }

private:
    struct Entry {
        Query query;
        OutcomeHandler handler;
    };
    using Entries = std::vector<Entry>;

    void on_ready(Connection& connection) override;
    void on_lost(Connection& connection, net::StreamError const& error) override;
    void on_notification(Connection& connection, std::string const& channel) override
    {
        if (&connection == current_.get() && listener_)
            listener_(&channel);
    }
    void pump();
    void pump_soon() { pump_.post(*runtime_, weak_from_this(), &Client::pump); }
    void connect_failed(net::StreamError const& error);
    void next_host() noexcept { host_ = (host_ + 1) % std::max<std::size_t>(config_->endpoints.size(), 1); }
    void write_batch();
    void write(Entries entries, Instant now);
    void send_aside(Statement statement);
    void answered(ConnectionPtr const& connection, Entries entries, Instant since, TransactionReply reply);
    void leave_silent();
    void give_up(ConnectionPtr connection, char const* why);
    void end_lost_sessions();
    [[nodiscard]] Clock::duration patience() const noexcept;
    void tick();
    void answer_if(std::function<bool(Query const&)> const& wanted, Failure const& failure);
    void answer_later(OutcomeHandler handler, Failure failure);
    [[nodiscard]] Failure not_connected() const;
    [[nodiscard]] bool over(Query const& query) const { return query.not_after.over(runtime_->now()); }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<PostgresqlConfig const> config_;
    std::string name_;
    net::Backoff backoff_;
    /// requests that wait, one list per `Query::Line`
    std::array<std::list<Entry>, 3> queue_;
    store::ClaimWindowPtr window_;
    std::size_t host_ = 0;
    /// the connection for requests, open or being opened; null: neither
    ConnectionPtr current_;
    /// `current_` is connected
    bool ready_ = false;
    /// transactions of requests on `current_` without an answer
    std::size_t under_way_ = 0;
    /// silent connections with open transactions, the oldest first, and until when they are kept
    std::vector<std::pair<ConnectionPtr, Instant>> left_behind_;
    /// sessions that may still work on requests whose answers cannot arrive
    std::vector<SessionName> lost_sessions_;
    Instant open_after_{};
    /// connect although no request waits
    bool wanted_ = false;
    /// consecutive hosts that failed, and how many of these for good
    std::size_t failed_in_a_row_ = 0;
    std::size_t fatal_in_a_row_ = 0;
    /// why there is no connection; clear: none was needed
    net::StreamError last_error_;
    RepeatedCauses failed_attempts_{RepeatSchedule::Ends::when_told};
    std::chrono::milliseconds shortest_ttl_{0};
    /// when old rows are deleted next
    Instant sweep_at_;
    std::function<void()> reachable_;
    std::function<void(std::string const*)> listener_;
    OncePerTurn pump_;
    Timer timer_;
    bool closed_ = false;
};
using ClientPtr = std::shared_ptr<Client>;

/** Sends a query as a step. A failure of it ends the request. */
[[nodiscard]] store::Step<Outcome> ask(ClientPtr client, Query query);

} // namespace tenure::postgresql
