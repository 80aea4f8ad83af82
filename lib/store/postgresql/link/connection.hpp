// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <config/number_from.hpp>
#include <net/name_lookup.hpp>
#include <runtime/timer.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/postgresql.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::postgresql
{

/// parameters as text; nullopt: null
using Values = std::vector<std::optional<std::string>>;
struct Statement {
    std::string text;
    Values values = {};
};

/** The array of the values as the server reads it. */
[[nodiscard]] std::string array_of(std::vector<std::string> const& values);

class Result
{
public:
    explicit Result(PGresult* result) noexcept
        : result_(result)
    {
    }

    [[nodiscard]] ExecStatusType status() const noexcept { return PQresultStatus(result_.get()); }
    [[nodiscard]] int rows() const noexcept { return PQntuples(result_.get()); }
    /** Empty: null, or there is no such value. */
    [[nodiscard]] std::string_view text(int column, int row = 0) const noexcept
    {
        if (row >= rows() || column >= PQnfields(result_.get()))
            return {};
        auto const length = static_cast<std::size_t>(PQgetlength(result_.get(), row, column));
        return {PQgetvalue(result_.get(), row, column), length};
    }
    [[nodiscard]] std::optional<std::int64_t> number(int column, int row = 0) const noexcept
    {
        return number_from<std::int64_t>(text(column, row));
    }
    [[nodiscard]] static std::string_view error_field(PGresult const* result, int field) noexcept
    {
        char const* const value = PQresultErrorField(result, field);
        return value == nullptr ? std::string_view() : value;
    }

private:
    struct Clear {
        void operator()(PGresult* result) const noexcept { PQclear(result); }
    };
    std::unique_ptr<PGresult, Clear> result_;
};

struct ServerError {
    /// SQLSTATE
    std::string code;
    std::string message;
};

struct TransactionReply {
    /// of each statement, once all of them are committed
    std::vector<Result> results = {};
    /// the server refused it, and changed nothing
    std::optional<ServerError> error = std::nullopt;
    /// committed, and not on the standbys that the server was to wait for
    bool unreplicated = false;
    /// set: the connection was lost first, so the effect is unknown
    net::StreamError lost = {};
};
using TransactionHandler = OneShot<void(TransactionReply&&)>;

/** A session of the server, as it finds it in `pg_stat_activity`. */
struct SessionName {
    std::string pid;
    std::string started;
    std::string application;
};

class Connection;

/** Gets the events of a connection, never inside a call of it. */
class ConnectionOwner
{
public:
    /** It is connected to a primary server with a usable schema. */
    virtual void on_ready(Connection& connection) = 0;
    /** It could not be established, or was lost; no event follows. */
    virtual void on_lost(Connection& connection, net::StreamError const& error) = 0;
    virtual void on_notification(Connection& connection, std::string const& channel) = 0;

protected:
    ~ConnectionOwner() = default;
};

/** A connection of libpq in pipeline mode. Used once; everything runs on the strand.
 *
 *  Transactions are answered in their order. Behind a pooler only one is under way, and its last statement returns a
 *  number of its own: when a client is lost between two answers, PgBouncer (seen with 1.18) hands the second one to
 *  another client. libpq does not bound the size of a reply. */
class Connection : public std::enable_shared_from_this<Connection>
{
public:
    /** @param endpoint  unset: the Unix socket of the config */
    Connection(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<PostgresqlConfig const> config,
        std::optional<Endpoint> endpoint);
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    ~Connection() { finish_libpq(); }

    void open(std::weak_ptr<ConnectionOwner> owner);
    /** Sends statements that take effect together. The handler is never called inside this call. */
    void send(std::vector<Statement> statements, TransactionHandler handler);
    /** Ends it, without an event: pending transactions are answered as lost for this reason. */
    void close(net::StreamError const& why) noexcept;

    /** True if a transaction has no answer yet. */
    [[nodiscard]] bool busy() const noexcept { return !pending_.empty(); }
    /** When it last wrote to an idle server, or heard of a busy one. */
    [[nodiscard]] Instant last_progress() const noexcept { return last_progress_; }
    [[nodiscard]] SessionName const& session() const noexcept { return session_; }
    /** True if a pooler stands between: another session may serve the next transaction. */
    [[nodiscard]] bool pooled() const noexcept { return pooled_; }

private:
    enum class State { connecting, ready, closed };
    struct Pending {
        TransactionHandler handler;
        std::vector<Statement> statements;
        TransactionReply reply = {};
    };

    void try_next();
    void attempt_failed(std::string const& message);
    void poll();
    void greet();
    void greeted(TransactionReply const& reply);
    void prepare();
    void write(Pending const& next);
    [[nodiscard]] bool put(Statement const& statement);
    void wait(bool for_writing);
    void on_event(bool writable);
    void flush();
    [[nodiscard]] std::vector<Pending> take_results();
    void finish(Pending& pending);
    static void on_notice(void* self, PGresult const* notice);
    void lose(net::StreamError const& error);
    void release_descriptor() noexcept;
    void finish_libpq() noexcept;

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<PostgresqlConfig const> config_;
    std::optional<Endpoint> endpoint_;
    std::uint64_t fork_generation_;
    std::weak_ptr<ConnectionOwner> owner_;
    State state_ = State::connecting;
    Instant deadline_{};
    Credentials login_;
    std::optional<net::NameLookup> lookup_;
    /// that are still to be tried; an empty text for a Unix socket
    std::deque<std::string> addresses_;
    net::StreamError last_failure_;
    PGconn* pg_ = nullptr;
    asio::posix::stream_descriptor descriptor_;
    /// counts uses of the descriptor: an event of an earlier use is ignored
    std::uint64_t use_ = 0;
    bool writing_ = false;
    std::deque<Pending> pending_;
    Instant last_progress_{};
    SessionName session_;
    bool pooled_ = false;
    /// names of the statements that this session has prepared
    std::map<std::string, std::string, std::less<>> prepared_;
    /// the default of the session does not fit
    bool sets_isolation_ = false;
    /// why the server ends the connection
    std::string farewell_;
    Timer limit_;
};
using ConnectionPtr = std::shared_ptr<Connection>;

} // namespace tenure::postgresql
