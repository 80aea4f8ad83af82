// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Drives the state machine of a connection: moves bytes, time and handlers between it, a stream and the runtime.
#include "connection.hpp"

#include "connection_machine.hpp"
#include "store/redis/config/config.hpp"

#include <runtime/timer.hpp>

#include <tenure/errc.hpp>

#include <cstddef>
#include <exception>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

class StreamConnection final : public Connection,
                               private StreamEvents,
                               public std::enable_shared_from_this<StreamConnection>
{
public:
    StreamConnection(
        std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options)
        : runtime_(std::move(runtime))
        , config_(std::move(config))
        , streams_(std::move(streams))
        , machine_(config_, std::move(options), [runtime = runtime_.get()] { return runtime->random(); })
        , timer_(*runtime_)
    {
    }

    StreamConnection(StreamConnection const&) = delete;
    StreamConnection& operator=(StreamConnection const&) = delete;
    ~StreamConnection() override;

    void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) override
    {
        if (!machine_.is_open())
            machine_.open(runtime_->now());
        bool const more_follows = command.leaves_with_next();
        machine_.execute(std::move(command), std::move(not_after), std::move(handler));
        // the server can begin while the rest is prepared; the posted `run` answers requests that are dropped here
        bool const is_idle = machine_.oldest_unanswered() == Instant::max();
        if (ready() && !running_ && !more_follows && (is_idle || machine_.writable() >= worth_a_write)) {
            write();
        }
        if (machine_.writable() > 0 || machine_.has_actions() || !ready())
            run_soon();
        else if (machine_.wake_at() != Instant::max())
            arm_timer();
    }

    bool ready() const noexcept override { return machine_.state() == ConnectionState::ready; }
    ConnectionState state() const noexcept override { return machine_.state(); }

    void open() override
    {
        machine_.open(runtime_->now());
        run_soon();
    }

    void drop_abandoned() override
    {
        machine_.drop_abandoned(runtime_->now());
        if (machine_.has_actions())
            run_soon();
        else
            arm_timer();
    }

    void hand_over(Connection& to) override
    {
        machine_.take_unwritten([&to](Request&& request) {
            to.execute(std::move(request.command), std::move(request.not_after), std::move(request.handler));
        });
    }

    void shortest_ttl(std::chrono::milliseconds ttl) override { machine_.shortest_ttl(ttl); }
    void expect_delay(std::chrono::milliseconds delay) override { machine_.expect_delay(delay); }

    void hurry() override
    {
        machine_.hurry(runtime_->now());
        run_soon();
    }

    void on_state(std::function<void(ConnectionState)> handler) override { state_handler_ = std::move(handler); }
    void on_push(std::function<void(resp::Value const&)> handler) override { push_handler_ = std::move(handler); }
    Instant oldest_unanswered() const noexcept override { return machine_.oldest_unanswered(); }
    Instant silent_since() const noexcept override { return machine_.silent_since(); }
    ServerInfo const& server() const noexcept override { return machine_.server(); }
    std::string last_error() const override { return machine_.last_error(); }
    void close() noexcept override;
    void give_up() noexcept override;

    void invalidate(std::string_view what) override
    {
        machine_.invalidate(what, runtime_->now());
        run_soon();
    }

private:
    void on_connected(StreamError const& error) override;
    void on_read(StreamError const& error, std::string_view bytes) override;
    void on_written(StreamError const& error, std::size_t written, std::string buffer) override;

    void run_soon();
    void run(bool reads = true);
    void take_actions();
    void perform(Action& action);
    void notify_state(ConnectionState state);
    void connect(Instant deadline);
    void drop_stream() noexcept;
    void write();
    void read();
    void arm_timer();
    void on_timer();

    /// this many queued requests are written before the turn of the loop ends: a write costs little for each, and the
    /// server works while the next ones are prepared (64 in flight on two cores: 1.07 times a raw client, else 0.82)
    static constexpr std::size_t worth_a_write = 32;

    std::shared_ptr<Runtime> const runtime_;
    RedisConfig const config_;
    StreamFactory const streams_;
    ConnectionMachine machine_;
    std::function<void(ConnectionState)> state_handler_;
    std::function<void(resp::Value const&)> push_handler_;
    /// null without an attempt or a connection
    std::shared_ptr<Stream> stream_;
    bool connected_ = false;
    bool reading_ = false;
    bool writing_ = false;
    /// bytes of the batch that were sent before the write of its rest began
    std::size_t sent_before_ = 0;
    /// a `run` was posted
    bool run_posted_ = false;
    /// inside `run`, which handles all requests of its handlers before it returns
    bool running_ = false;
    /// buffer of the last write, reused so that a steady load does not allocate; the stream owns it while it writes the
    /// rest
    std::string output_;
    Timer timer_;
};

StreamConnection::~StreamConnection()
{
    // no caller is left, but each pending request still gets its outcome
    machine_.close();
    drop_stream();
    timer_.cancel();
    try {
        Action action;
        while (machine_.next(action, Instant{}))
            if (auto* const done = std::get_if<Complete>(&action))
                runtime_->post([handler = std::move(done->handler), outcome = std::move(done->outcome)]() mutable {
                    std::move(handler)(std::move(outcome));
                });
    } catch (...) { // out of memory: the owners of the requests get no answer
    }
}

void StreamConnection::close() noexcept
{
    machine_.close();
    drop_stream();
    timer_.cancel();
    run_soon();
}

void StreamConnection::give_up() noexcept
{
    machine_.give_up();
    close();
}

// -- events of the stream --

void StreamConnection::on_connected(StreamError const& error)
{
    auto const self = shared_from_this();
    connected_ = !error;
    // the text of a failed attempt already names the server
    if (connected_)
        machine_.turned_to(stream_->peer());
    machine_.connected(error, runtime_->now());
    run();
}

void StreamConnection::on_read(StreamError const& error, std::string_view bytes)
{
    auto const self = shared_from_this();
    reading_ = false;
    if (error) {
        machine_.lost(error, runtime_->now());
        run();
        return;
    }
    machine_.received(bytes);
    // The next read begins behind the handlers of these replies: their requests leave in one write, and a read that
    // finds nothing delays none of them.
    run(false);
    run_soon();
}

void StreamConnection::on_written(StreamError const& error, std::size_t written, std::string buffer)
{
    auto const self = shared_from_this();
    writing_ = false;
    output_ = std::move(buffer);
    machine_.written(error, sent_before_ + written, runtime_->now());
    // requests that waited for this write are sent together with others of this turn
    if (!run_posted_)
        run();
}

// -- actions of the machine --

void StreamConnection::run_soon()
{
    if (run_posted_ || running_)
        return;
    run_posted_ = true;
    runtime_->post([self = shared_from_this()] {
        self->run_posted_ = false;
        self->run();
    });
}

void StreamConnection::run(bool reads)
{
    running_ = true;
    try {
        do {
            take_actions();
            write();
            // handlers of dropped requests may have sent more
        } while (machine_.has_actions());
        if (reads)
            read();
        arm_timer();
    } catch (...) {
        // an exception belongs to the handler's caller; the other requests continue
        running_ = false;
        run_soon();
        throw;
    }
    running_ = false;
}

void StreamConnection::take_actions()
{
    Action action;
    while (machine_.next(action, runtime_->now()))
        perform(action);
}

void StreamConnection::perform(Action& action)
{
    if (auto* const done = std::get_if<Complete>(&action)) {
        std::move(done->handler)(std::move(done->outcome));
    } else if (auto const* const push = std::get_if<DeliverPush>(&action)) {
        // a copy: the handler may replace itself
        if (auto const handler = push_handler_)
            handler(push->value);
    } else if (auto const* const told = std::get_if<TellState>(&action)) {
        notify_state(told->state);
    } else if (auto const* const line = std::get_if<WriteLog>(&action)) {
        if (runtime_->logs(line->level))
            runtime_->log(line->level, line->line);
    } else if (auto const* const wanted = std::get_if<ConnectStream>(&action)) {
        connect(wanted->deadline);
    } else if (std::holds_alternative<DropStream>(action)) {
        drop_stream();
    }
}

void StreamConnection::notify_state(ConnectionState state)
{
    auto const handler = state_handler_;
    if (state == ConnectionState::closed) {
        // the handlers may own this connection's owner
        state_handler_ = nullptr;
        push_handler_ = nullptr;
    }
    if (handler)
        handler(state);
}

void StreamConnection::connect(Instant deadline)
{
    try {
        stream_ = streams_(runtime_, config_);
        stream_->connect(*this, deadline);
    } catch (std::exception const& error) {
        drop_stream();
        machine_.connected({make_error_code(errc::store_unavailable), error.what(), true}, runtime_->now());
    }
}

void StreamConnection::drop_stream() noexcept
{
    connected_ = reading_ = writing_ = false;
    if (auto const stream = std::exchange(stream_, nullptr))
        stream->close();
}

void StreamConnection::write()
{
    while (connected_ && !writing_ && machine_.has_output()) {
        output_.clear();
        machine_.take_output(output_, runtime_->now());
        sent_before_ = output_.empty() ? 0 : stream_->write_now(output_);
        if (sent_before_ < output_.size()) {
            output_.erase(0, sent_before_);
            writing_ = true;
            stream_->write(std::exchange(output_, {}));
        }
    }
}

void StreamConnection::read()
{
    if (!connected_ || reading_)
        return;
    stream_->read();
    reading_ = true;
}

void StreamConnection::arm_timer()
{
    auto const when = machine_.wake_at();
    if (when == Instant::max()) {
        // an early call of the timer is harmless, and the pending read keeps the loop alive
        if (machine_.state() != ConnectionState::ready)
            timer_.cancel();
        return;
    }
    timer_.by(when, weak_from_this(), &StreamConnection::on_timer);
}

void StreamConnection::on_timer()
{
    bool const connecting = stream_ && !connected_;
    if (connecting)
        machine_.turned_to(stream_->peer());
    machine_.timeout(runtime_->now(), connecting ? stream_->overdue() : StreamError());
    run();
}

} // namespace

std::shared_ptr<Connection>
make_connection(std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options)
{
    if (options.name.empty())
        options.name = describe(config);
    return std::make_shared<StreamConnection>(
        std::move(runtime), std::move(config), std::move(streams), std::move(options));
}

ConnectionFactory
connections_to(std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options)
{
    if (options.name.empty())
        options.name = describe(config);
    return [runtime = std::move(runtime), config = std::move(config), streams = std::move(streams),
            options = std::move(options)](std::string_view purpose) {
        auto own = options;
        if (!purpose.empty())
            own.name.append(" (").append(purpose).append(")");
        bool const only_subscribes = purpose == hints_purpose;
        own.learns_run_id = config.delay_after_failover && !only_subscribes;
        own.proves_scripts = options.proves_scripts && !only_subscribes;
        if (purpose.starts_with(replicated_purpose))
            own.acknowledged_by = config.replicas.acknowledged_by;
        own.carries_leases = options.carries_leases && !only_subscribes;
        return make_connection(runtime, config, streams, std::move(own));
    };
}

ConnectTo
connect_like(std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options)
{
    return [runtime = std::move(runtime), config = std::move(config), streams = std::move(streams),
            options = std::move(options)](ServerAddress const& address) {
        auto server = config;
        server.host = address.host;
        server.port = address.port;
        return connections_to(runtime, std::move(server), streams, options);
    };
}

ConnectTo connect_to_replicas(std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams)
{
    // the user may lack SELECT and INFO, and neither command is needed here
    config.database = 0;
    config.delay_after_failover = false;
    config.socket_path.clear();
    return connect_like(
        std::move(runtime), std::move(config), std::move(streams), {.quiet = true, .carries_leases = false});
}

} // namespace tenure::redis
