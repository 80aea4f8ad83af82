// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fake_stream.hpp"
#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"

#include "store/redis/link/connection.hpp"

#include <tenure/errc.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using redis::ConnectionState;
using redis::Delivery;
using redis::Outcome;
using redis::resp::Command;

inline constexpr char const* hello_reply =
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:5\r\n"
    "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";

/** A connection over fake streams in virtual time. */
class ConnectionFixture : Immovable
{
public:
    using OutcomePtr = std::shared_ptr<std::optional<Outcome>>;

    explicit ConnectionFixture(RedisConfig redis_config = {}, redis::ConnectionOptions options = {})
        : config(std::move(redis_config))
    {
        connection = redis::make_connection(runtime, config, streams.factory(), std::move(options));
        connection->on_state([this](ConnectionState state) { states.push_back(state); });
        connection->on_push([this](redis::resp::Value const& value) { pushes.push_back(value); });
    }
    ~ConnectionFixture()
    {
        if (connection)
            connection->close();
        runtime->run_ready();
        runtime->discard();
    }

    [[nodiscard]] FakeStream& stream() { return streams.last(); }

    /** Executes a command; the outcome appears in the result. */
    OutcomePtr ask(Command command, Instant::duration patience = 1min)
    {
        return ask(std::move(command), Deadline(runtime->now() + patience));
    }
    OutcomePtr ask(Command command, Deadline deadline)
    {
        auto outcome = std::make_shared<std::optional<Outcome>>();
        connection->execute(std::move(command), std::move(deadline), [outcome](Outcome result) {
            if (outcome->has_value())
                twice() = true;
            *outcome = std::move(result);
        });
        return outcome;
    }

    /** Set once any handler was called a second time. */
    static bool& twice()
    {
        static bool value = false;
        return value;
    }

    /** The server accepts the connection under way. */
    void accept()
    {
        runtime->run_ready();
        stream().accept();
        runtime->run_ready();
    }
    /** Lets the attempt under way succeed, login included, and forgets what was written for it. */
    void become_ready()
    {
        accept();
        stream().send(hello_reply);
        // the bytes of the login; requests that waited come after them
        (void)stream().take_received();
        runtime->run_ready();
    }

    /** Opens the connection and makes it ready. */
    void open()
    {
        connection->open();
        become_ready();
    }

    /** The bytes that arrived at the server in this turn of the loop. */
    [[nodiscard]] std::string received()
    {
        runtime->run_ready();
        return stream().take_received();
    }

    void send(std::string bytes)
    {
        stream().send(std::move(bytes));
        runtime->run_ready();
    }

    /** The stream ends, as when the server was killed. */
    void cut()
    {
        stream().end();
        runtime->run_ready();
    }

    RedisConfig config;
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    FakeStreams streams;
    std::shared_ptr<redis::Connection> connection;
    std::vector<ConnectionState> states;
    std::vector<redis::resp::Value> pushes;
};

/** A connection that has logged in. */
struct OpenConnection : ConnectionFixture {
    OpenConnection() { open(); }
};

/** A connection whose server reads no more: one request is written, and the next one waits. */
struct StalledConnection : OpenConnection {
    StalledConnection()
    {
        stream().stalled = true;
        written = ask(Command("GET", "a"));
        runtime->run_ready();
        waiting = ask(Command("GET", "b"));
        runtime->run_ready();
    }

    OutcomePtr written;
    OutcomePtr waiting;
};

} // namespace tenure::test
