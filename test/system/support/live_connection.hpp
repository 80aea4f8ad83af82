// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "runtime/asio_runtime.hpp"
#include "store/redis/link/connection.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

/** A connection over real sockets. Its event loop runs only inside of these functions. */
class LiveConnection : Immovable
{
public:
    using Answer = std::shared_ptr<std::optional<redis::Outcome>>;

    explicit LiveConnection(RedisConfig const& config, redis::ConnectionOptions options = {})
        : runtime_(make_asio_runtime(
              loop_.get_executor(), [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }))
        , connection_(redis::make_connection(runtime_, config, redis::socket_streams(), std::move(options)))
    {
        connection_->on_state([this](redis::ConnectionState state) { states_.push_back(state); });
        connection_->on_push([this](redis::resp::Value const& value) { pushes_.push_back(value); });
    }
    ~LiveConnection()
    {
        on_strand([this] { connection_->close(); });
        loop_.run_for(std::chrono::seconds{5});
    }

    [[nodiscard]] redis::Connection& connection() noexcept { return *connection_; }
    [[nodiscard]] std::vector<redis::resp::Value> const& pushes() const noexcept { return pushes_; }
    [[nodiscard]] std::vector<redis::ConnectionState> const& states() const noexcept { return states_; }

    [[nodiscard]] std::size_t logged(std::string_view part) const
    {
        return static_cast<std::size_t>(std::ranges::count_if(
            lines_, [part](std::string const& line) { return line.find(part) != std::string::npos; }));
    }

    /** Executes it, without waiting for the answer. */
    template <class... Arguments>
    Answer post(std::chrono::milliseconds patience, std::string_view name, Arguments const&... arguments)
    {
        auto answer = std::make_shared<std::optional<redis::Outcome>>();
        on_strand([&] {
            connection_->execute(
                redis::resp::Command(name, arguments...), runtime_->now() + patience,
                [answer](redis::Outcome outcome) { *answer = std::move(outcome); });
        });
        return answer;
    }

    /** Executes it and waits for the answer. */
    template <class... Arguments>
    redis::Outcome ask(std::string_view name, Arguments const&... arguments)
    {
        auto const answer = post(std::chrono::seconds{10}, name, arguments...);
        run_until([&] { return answer->has_value(); });
        return **answer;
    }

    template <class Function>
    void on_strand(Function function)
    {
        bool done = false;
        boost::asio::dispatch(runtime_->strand(), [&] {
            function();
            done = true;
        });
        run_until([&] { return done; });
    }

    template <class Condition>
    void run_until(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds{20})
    {
        auto const end = std::chrono::steady_clock::now() + limit;
        while (!condition()) {
            loop_.restart();
            if (std::chrono::steady_clock::now() > end)
                throw std::runtime_error("it did not come about in time: " + connection_->last_error());
            loop_.run_one_for(std::chrono::milliseconds{20});
        }
    }

    /** Closes, and tells whether the loop then ends by itself. */
    [[nodiscard]] bool closes_clean()
    {
        on_strand([this] { connection_->close(); });
        loop_.restart();
        loop_.run_for(std::chrono::seconds{5});
        return loop_.stopped();
    }

private:
    boost::asio::io_context loop_;
    std::vector<std::string> lines_;
    std::vector<redis::ConnectionState> states_;
    std::vector<redis::resp::Value> pushes_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<redis::Connection> connection_;
};

} // namespace tenure::test
