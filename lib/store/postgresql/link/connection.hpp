// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "transaction.hpp"

#include <net/name_lookup.hpp>
#include <runtime/timer.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/postgresql.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::postgresql
{

/** A session of the server, as it finds it in `pg_stat_activity`. */
struct SessionName {
    std::string pid;
    /// seconds since 1970
    std::string started;
    std::string application;
};

/** A connection of libpq in pipeline mode. Used once; everything runs on the strand.
 *
 *  Transactions are answered in their order. libpq does not bound the size of a reply. */
class Connection : public std::enable_shared_from_this<Connection>
{
public:
    enum class State { connecting, ready, closed };
    struct Events {
        /// it is connected to a primary server with a usable schema
        std::function<void()> ready;
        /// it could not be established, or was lost; no event follows
        std::function<void(net::StreamError const&)> lost;
        /// a notification: channel and payload
        std::function<void(std::string const&, std::string const&)> notified;
    };

    /** @param endpoint  unset: the Unix socket of the config */
    Connection(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<PostgresqlConfig const> config,
        std::optional<Endpoint> endpoint);
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    ~Connection();

    /** Begins. Events are never reported inside a call. */
    void open(Events events);
    /** Sends a transaction. Its handler is never called inside this call. */
    void send(Transaction transaction);
    /** Ends it: pending transactions are answered as lost for this reason. */
    void close(net::StreamError const& why) noexcept;

    [[nodiscard]] State state() const noexcept { return state_; }
    /** True if a transaction has no answer yet. */
    [[nodiscard]] bool busy() const noexcept { return !pending_.empty(); }
    /** When it last wrote to an idle server, or heard of a busy one. */
    [[nodiscard]] Instant last_progress() const noexcept { return last_progress_; }
    /** Of a ready connection. */
    [[nodiscard]] SessionName const& session() const noexcept { return session_; }
    /** True if a pooler stands between: another session serves the next transaction. */
    [[nodiscard]] bool pooled() const noexcept { return pooled_; }

private:
    struct Pending {
        OneShot<void(TransactionReply&&)> handler;
        TransactionReply reply = {};
        /// answers to Sync that are still to come
        int syncs = 1;
        /// the session's own isolation level does not fit: BEGIN and COMMIT stand around the statements
        bool bracketed = false;
    };
    using Parameters = std::vector<std::pair<std::string, std::string>>;
    using Finished = std::vector<std::pair<OneShot<void(TransactionReply&&)>, TransactionReply>>;

    [[nodiscard]] Parameters parameters() const;
    void try_next();
    void attempt_failed(std::string message);
    void poll();
    void connected();
    void greeted(TransactionReply reply);
    void release_descriptor() noexcept;
    void finish_libpq() noexcept;
    void wait(bool for_writing);
    void on_event(bool writable);
    void flush();
    void take_results(Finished& finished);
    void take_notifications();
    static void on_notice(void* self, PGresult const* notice);
    void lose(net::StreamError error);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<PostgresqlConfig const> config_;
    std::optional<Endpoint> endpoint_;
    std::uint64_t fork_generation_;
    Events events_;
    State state_ = State::connecting;
    Instant deadline_{};
    Credentials login_;
    std::optional<net::NameLookup> lookup_;
    /// that are still to be tried; empty texts of a Unix socket
    std::deque<std::string> addresses_;
    /// why the last address failed
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
    /// see `Pending::bracketed`
    bool brackets_ = false;
    /// of the server, once it has said why it ends the connection
    std::optional<ServerError> farewell_;
    Timer limit_;
};
using ConnectionPtr = std::shared_ptr<Connection>;

} // namespace tenure::postgresql
