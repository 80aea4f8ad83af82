// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "connection_handshake.hpp"
#include "store/redis/wire/parser.hpp"
#include "store/redis/wire/transaction.hpp"
#include "stream.hpp"

#include <net/backoff.hpp>

#include <tenure/log.hpp>

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/circular_buffer.hpp>

namespace tenure::redis
{

/** One command on its way, from `execute` to its outcome. */
struct Request {
    Request(resp::Command&& what, Deadline&& until, OutcomeHandler&& whose) noexcept
        : command(std::move(what))
        , not_after(std::move(until))
        , handler(std::move(whose))
    {
    }

    resp::Command command;
    Deadline not_after;
    OutcomeHandler handler;
    /// when it was handed to the stream
    Instant since{};
    /// replies or confirmations still to come
    std::size_t missing = 1;
    /// where its first byte is in all that this connection wrote since it was connected
    std::uint64_t first_byte = 0;
};

/** The requests of a connection in order: first those that were written, then those that wait. A ring, so that a steady
 *  load allocates nothing here. */
class RequestQueue
{
public:
    [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
    [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }
    /** How many of the first were written. */
    [[nodiscard]] std::size_t written() const noexcept { return written_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return size() - written_; }

    /** `index` counts from the oldest. */
    [[nodiscard]] Request& operator[](std::size_t index) noexcept { return requests_[index]; }
    [[nodiscard]] Request const& operator[](std::size_t index) const noexcept { return requests_[index]; }
    [[nodiscard]] Request& front() noexcept { return requests_.front(); }
    [[nodiscard]] Request const& front() const noexcept { return requests_.front(); }

    void push(Request&& request)
    {
        if (requests_.full())
            requests_.set_capacity(requests_.empty() ? 16 : requests_.capacity() * 2);
        requests_.push_back(std::move(request));
    }

    /** The oldest waiting request now counts as written. */
    void mark_written() noexcept
    {
        assert(waiting() > 0);
        ++written_;
    }

    /** The last written request waits again: not a byte of it left. */
    void unmark_written() noexcept
    {
        assert(written_ > 0);
        --written_;
    }

    void pop_front() noexcept
    {
        assert(!empty());
        requests_.pop_front();
        if (written_ > 0)
            --written_;
    }

    /** Takes out each waiting request for which `is_over` is true, in order, and hands it to `take`. */
    template <class Predicate, class Take>
    void take_waiting(Predicate is_over, Take take)
    {
        std::size_t kept = written_;
        for (std::size_t i = written_; i < size(); ++i) {
            if (is_over(std::as_const(requests_[i])))
                take(std::move(requests_[i]));
            else if (kept++ != i)
                requests_[kept - 1] = std::move(requests_[i]);
        }
        requests_.erase_end(size() - kept);
    }

private:
    boost::circular_buffer<Request> requests_;
    std::size_t written_ = 0;
};

/** What the machine wants done. */
struct ConnectStream {
    Instant deadline;
};
struct DropStream {
};
struct Complete {
    OutcomeHandler handler;
    Outcome outcome;
};
struct DeliverPush {
    resp::Value value;
};
struct TellState {
    ConnectionState state;
};
struct WriteLog {
    LogLevel level;
    std::string line;
};
using Action = std::variant<std::monostate, ConnectStream, DropStream, Complete, DeliverPush, TellState, WriteLog>;

/** A connection as a state machine: events and the time in; bytes, actions and the time of the next wake-up out. It
 *  does no I/O, has no clock, and calls nothing but the source of randomness.
 *
 *  After each event the driver takes actions by `next` until that returns false; what it calls for an action may give
 * the machine further events. Then it writes what `take_output` gives, unless a write is under way.
 */
class ConnectionMachine
{
public:
    ConnectionMachine(RedisConfig const& config, ConnectionOptions options, std::function<std::uint64_t()> random);

    // -- events --
    void open(Instant now);
    /** `open` comes first where the machine is not open: it needs the time, this does not. */
    void execute(resp::Command&& command, Deadline&& not_after, OutcomeHandler&& handler);
    /** Owners of requests have given up: those that wait to be written leave the queue. */
    void drop_abandoned();
    void connected(StreamError const& error, Instant now);
    /** Where the stream has turned to: "host:port" for the texts; empty: the config tells. */
    void turned_to(std::string address) { address_ = std::move(address); }
    /** `bytes` must stay valid until `next` has answered false. */
    void received(std::string_view bytes) { parser_.feed(bytes); }
    /** The stream ended or failed. */
    void lost(StreamError const& error, Instant now);
    /** A write ended; after an error the bytes from `bytes` on surely did not leave. */
    void written(StreamError const& error, std::size_t bytes, Instant now);
    /** The shortest ttl of the leases that are held; zero: none. */
    void shortest_ttl(std::chrono::milliseconds ttl) noexcept { backoff_.protect(ttl); }
    /** There is news of the server: a pause between two attempts is over. */
    void hurry(Instant now);
    /** To be called at `wake_at` or later. @param overdue  why the stream is not connected yet, where it can tell */
    void timeout(Instant now, StreamError const& overdue = {});
    /** The caller found `what` the server sent to be no answer to its request. */
    void distrust(std::string_view what, Instant now);
    void close();
    /** As `close`, for a connection that did not answer and was replaced. */
    void give_up();

    // -- results --
    /** Takes the next action; false: none. */
    [[nodiscard]] bool next(Action& action, Instant now);
    /** True if there are actions without further bytes having arrived. */
    [[nodiscard]] bool has_actions() const noexcept { return !actions_.empty(); }
    [[nodiscard]] bool has_output() const noexcept;
    /** How many requests are ready to be written. */
    [[nodiscard]] std::size_t waiting() const noexcept { return phase_ == Phase::ready ? queue_.waiting() : 0; }
    /** Appends what may be written now, which counts as written from then on: `now` must have been read just before.
     * Requests whose time is over are dropped: take actions afterwards. */
    void take_output(std::string& out, Instant now);
    /** When `timeout` has to be called; Instant::max(): never. */
    [[nodiscard]] Instant wake_at() const noexcept;

    [[nodiscard]] ConnectionState state() const noexcept;
    /** False where only `open` gets it going. */
    [[nodiscard]] bool is_open() const noexcept { return phase_ != Phase::idle && phase_ != Phase::failed; }
    [[nodiscard]] Instant oldest_unanswered() const noexcept;
    [[nodiscard]] ServerInfo const& server() const noexcept { return handshake_.server(); }
    [[nodiscard]] std::string const& last_error() const noexcept { return failure_.detail; }

private:
    enum class Phase { idle, connecting, login, ready, backing_off, failed, closed };

    void enter(Phase phase);
    void begin_connect(Instant now);
    void become_ready(Instant now);
    /// the attempt to connect or the connection is over
    void fail(Refusal why, Instant now);
    void fail_for_good();
    void end(Refusal why);
    void retry(bool was_ready, std::size_t unanswered, Instant now);
    /// `can_write`: they come too late although the connection works
    void expire_waiting(Instant now, bool can_write);
    /// those of the waiting requests that are over
    template <class Predicate>
    void refuse_waiting(Predicate is_over, Refusal const& why);
    /// nothing was written, or all of that was answered
    void refuse_all();
    void answer_written();
    void not_sent(Request& request, Refusal const& why);
    void complete(Request& request, Outcome outcome);
    void log(LogLevel level, std::string line);
    [[nodiscard]] bool has_stream() const noexcept;

    // what arrives on the connection
    bool take_value(Action& action, resp::Value&& value, Instant now);
    void take_login_reply(resp::Value const& value, Instant now);
    bool take_reply(Action& action, resp::Value&& value, Instant now);
    bool take_transaction_reply(Action& action, resp::Value&& value, Instant now);
    bool take_confirmation(Action& action, resp::Value&& value, Instant now);
    void answer_front(Action& action, resp::Value&& value);
    void protocol_failure(std::string detail, Instant now);

    ConnectionOptions const options_;
    std::chrono::milliseconds const connect_timeout_;
    Handshake handshake_;
    net::Backoff backoff_;
    resp::Parser parser_;
    RequestQueue queue_;
    /// to the first request of the queue, while that is a transaction
    TransactionReplies transaction_;
    std::deque<Action> actions_;
    Phase phase_ = Phase::idle;
    /// why there is no connection; its detail is empty while there is one
    Refusal failure_;
    /// of the server that the present or last stream turned to; empty: the config tells
    std::string address_;
    /// the failure that was logged last, so that an outage is not logged at every attempt
    std::string logged_failure_;
    /// connecting, login: when the attempt is over. backing_off, failed: when the next may begin
    Instant deadline_{};
    Instant ready_since_{};
    /// a login has worked before: a server that does not answer now is unavailable, not misconfigured
    bool has_worked_ = false;
    /// see Outcome::login
    std::uint64_t login_ = 0;
    /// no waiting request has an earlier not_after
    Instant earliest_not_after_ = Instant::max();
    /// bytes of requests handed out since the connection was made, and where the write under way begins
    std::uint64_t handed_out_ = 0;
    std::uint64_t write_begin_ = 0;
    /// RESP2: a subscription was confirmed, so message arrays are pushes
    bool subscribed_ = false;
};

} // namespace tenure::redis
