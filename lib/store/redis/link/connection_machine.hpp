// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "connection_handshake.hpp"
#include "pace.hpp"
#include "request_queue.hpp"
#include "runtime/names.hpp"
#include "store/redis/wire/parser.hpp"
#include "store/redis/wire/transaction.hpp"
#include "stream.hpp"

#include <net/backoff.hpp>
#include <runtime/repeated_causes.hpp>

#include <tenure/log.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::redis
{

/** Actions that the machine requests from its driver. */
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

/** A connection as a state machine: takes events and the time, returns bytes, actions and the next wake-up. It does no
 *  I/O, has no clock, and calls only the source of randomness.
 *
 *  After each event the driver calls `next` until it returns false; handlers may give the machine further events. Then
 *  the driver writes the bytes of `take_output`, unless a write is pending. */
class ConnectionMachine
{
public:
    /// Most replies that a server may owe to requests other than renewals. A server in the same data centre is busy
    /// with a tenth of it.
    static constexpr std::size_t most_owed = 1024;
    /// Most bytes of unanswered requests: a server closes a connection that has sent 1 GiB while it was blocked
    /// (client-query-buffer-limit).
    static constexpr std::size_t most_unanswered_bytes = std::size_t{16} * 1024 * 1024;

    ConnectionMachine(RedisConfig const& config, ConnectionOptions options, std::function<std::uint64_t()> random);

    // -- events --
    void open(Instant now);
    /** Queues a request. Call `open` first if the machine is not open: it needs the time, and this function does not.
     */
    void execute(resp::Command&& command, Deadline&& not_after, OutcomeHandler&& handler);
    /** Removes unwritten requests whose owners have given up, now or, if many wait, at `wake_at`. */
    void drop_abandoned(Instant now);
    /** Takes out the unwritten requests in the order in which they would be written, and hands each to `take`. */
    template <class Take>
    void take_unwritten(Take take)
    {
        queue_.take_waiting([](Request const&) { return true; }, take);
        earliest_not_after_ = Instant::max();
    }
    void connected(StreamError const& error, Instant now);
    /** The address of the stream as "host:port" for messages; empty: the config has it. */
    void turned_to(std::string address) { address_ = std::move(address); }
    /** Feeds received bytes. They must stay valid until `next` returns false. */
    void received(std::string_view bytes) { parser_.feed(bytes); }
    /** The stream ended or failed. */
    void lost(StreamError const& error, Instant now);
    /** A write ended. After an error the bytes from `bytes` on certainly were not sent. */
    void written(StreamError const& error, std::size_t bytes, Instant now);
    /** The shortest ttl of the held leases; zero: no leases. */
    void shortest_ttl(std::chrono::milliseconds ttl) noexcept
    {
        shortest_ttl_ = ttl;
        backoff_.protect(ttl);
    }
    /** Each answer may take so much longer, because the commands themselves do. */
    void expect_delay(std::chrono::milliseconds delay) noexcept { delay_ = delay; }
    /** Ends a pause between two attempts, because there is news about the server. */
    void hurry(Instant now);
    /** Call it at `wake_at` or later.
     *  @param overdue  why the stream is not connected yet, if it knows */
    void timeout(Instant now, StreamError const& overdue = {});
    /** Drops the connection after a malformed reply.
     *  @param what  the malformed reply */
    void invalidate(std::string_view what, Instant now);
    void close();
    /** As `close`, for a silent connection that was replaced. */
    void give_up();

    // -- results --
    /** Takes the next action; false: no action. */
    [[nodiscard]] bool next(Action& action, Instant now);
    /** True if there are actions even without further received bytes. */
    [[nodiscard]] bool has_actions() const noexcept { return !actions_.empty(); }
    [[nodiscard]] bool has_output() const noexcept;
    /** The number of requests that can be written now. */
    [[nodiscard]] std::size_t writable() const noexcept;
    /** Appends the bytes to write, whose requests count as written from now on: read `now` just before. Drops expired
     *  requests, so take actions afterwards.
     *
     *  The most urgent requests come first. Requests other than renewals wait while the server owes as many replies as
     *  its pace allows, because renewals cannot overtake what was written. */
    void take_output(std::string& out, Instant now);
    /** When to call `timeout`; Instant::max(): never. */
    [[nodiscard]] Instant wake_at() const noexcept;

    [[nodiscard]] ConnectionState state() const noexcept;
    /** False if the machine needs `open` to connect. */
    [[nodiscard]] bool is_open() const noexcept { return phase_ != Phase::idle && phase_ != Phase::failed; }
    [[nodiscard]] Instant oldest_unanswered() const noexcept;
    /** Since when an answer is missing while none came; Instant::max(): all are answered. */
    [[nodiscard]] Instant silent_since() const noexcept;
    [[nodiscard]] ServerInfo const& server() const noexcept { return handshake_.server(); }
    [[nodiscard]] std::string const& last_error() const noexcept { return failure_.detail; }

private:
    enum class Phase { idle, connecting, login, ready, backing_off, failed, closed };

    void enter(Phase phase);
    void begin_connect(Instant now);
    void become_ready(Instant now);
    /// ends the attempt to connect or the connection
    void fail(Refusal why, Instant now);
    void fail_for_good(Instant now);
    void end(Refusal why);
    void retry(bool was_ready, std::size_t unanswered, Instant now);
    /// @param can_write  the connection works, so the requests are just too late
    void expire_waiting(Instant now, bool can_write);
    /// refuses the waiting requests for which the predicate is true
    template <class Predicate>
    void refuse_waiting(Predicate is_over, Refusal const& why);
    /// refuses all requests; requires that no written request is unanswered
    void refuse_all();
    void answer_written();
    void not_sent(Request& request, Refusal const& why, bool unwanted = false);
    /// notes the end of `not_after` of a request that waits
    void note_deadline(Request const& request) noexcept
    {
        earliest_not_after_ = std::min(earliest_not_after_, request.not_after.at());
    }
    [[nodiscard]] bool owes_too_much() const noexcept;
    [[nodiscard]] std::uint64_t unanswered_bytes() const noexcept;
    /// writes the oldest waiting request of this urgency, or drops it. True: the next one must leave with it
    bool write_one(std::string& out, resp::Urgency urgency, Instant now);
    /// writes requests of this urgency while there is room
    [[nodiscard]] bool has_room(std::string const& out) const noexcept;
    /** Writes all waiting requests of this urgency that may leave. */
    void write_all(std::string& out, resp::Urgency urgency, Instant now);
    /** Writes a request, and those that leave with it. */
    void write_with_next(std::string& out, resp::Urgency urgency, Instant now);
    /// how long an answer may take before less may be under way
    [[nodiscard]] Clock::duration longest_answer() const noexcept;
    void complete(Request& request, Outcome outcome);
    void log(LogLevel level, std::string line);
    [[nodiscard]] bool has_stream() const noexcept;

    // processes a received value
    bool take_value(Action& action, resp::Value&& value, Instant now);
    void take_login_reply(resp::Value const& value, Instant now);
    bool take_reply(Action& action, resp::Value&& value, Instant now);
    bool take_transaction_reply(Action& action, resp::Value&& value, Instant now);
    bool take_confirmation(Action& action, resp::Value&& value, Instant now);
    void answer_front(Action& action, resp::Value&& value, Instant now);
    void protocol_failure(std::string detail, Instant now);

    ConnectionOptions const options_;
    std::chrono::milliseconds const connect_timeout_;
    Handshake handshake_;
    net::Backoff backoff_;
    resp::Parser parser_;
    RequestQueue queue_;
    /// of the first request in the queue, while that is a transaction
    TransactionReplies transaction_;
    std::deque<Action> actions_;
    Phase phase_ = Phase::idle;
    /// why there is no connection; its detail is empty while there is one
    Refusal failure_;
    /// address of the current or last stream; empty: the config has it
    std::string address_;
    /// the errors that kept this connection from working: logged less and less often while an outage lasts
    RepeatedCauses failed_attempts_{RepeatSchedule::Ends::when_told};
    /// the errors that ended working connections
    RepeatedCauses losses_;
    /// connecting, login: end of the attempt. backing_off, failed: earliest begin of the next
    Instant deadline_{};
    Instant ready_since_{};
    /// an earlier login has worked, so a silent server is unavailable, not misconfigured
    bool has_worked_ = false;
    /// see Outcome::login
    std::uint64_t login_ = 0;
    /// limits the replies that the server owes to requests other than renewals
    Pace pace_{most_owed};
    /// see `shortest_ttl` and `expect_delay`
    std::chrono::milliseconds shortest_ttl_{};
    std::chrono::milliseconds delay_{};
    /// when the last answer came
    Instant last_answer_{};
    /// lower bound of `not_after` of the waiting requests
    Instant earliest_not_after_ = Instant::max();
    /// a look at all waiting requests takes at most a hundredth of the time: none before this
    Instant look_after_{};
    /// an owner has given up since the last look
    bool look_due_ = false;
    /// bytes of requests written on this connection, and the position where the current write begins
    std::uint64_t handed_out_ = 0;
    std::uint64_t write_begin_ = 0;
    /// RESP2: a subscription was confirmed, so message arrays are pushes
    bool subscribed_ = false;
};

} // namespace tenure::redis
