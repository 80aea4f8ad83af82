// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/connection.hpp"
#include "store/redis/link/hedged_link.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/errc.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

/** A connection whose server is the test: it sees each command and answers when it likes. */
class FakeConnection final : public redis::Connection
{
public:
    struct Sent {
        std::vector<std::string> words;
        Deadline not_after;
        Instant since;
        redis::OutcomeHandler handler;
        /// `Command::leaves_with_next`
        bool with_next = false;
        redis::resp::Urgency urgency = redis::resp::Urgency::first;
        bool open = true;
    };

    FakeConnection(Runtime& runtime, std::string_view made_for)
        : purpose(made_for)
        , runtime_(runtime)
    {
    }

    // -- Connection --
    void execute(redis::resp::Command&& command, Deadline not_after, redis::OutcomeHandler handler) override
    {
        if (!command.compose(runtime_.now())) {
            runtime_.post([handler = std::move(handler)]() mutable {
                redis::Outcome outcome;
                outcome.unwanted = true;
                std::move(handler)(std::move(outcome));
            });
            return;
        }
        if (command.wants_run_id())
            command.set_run_id(info.run_id);
        sent.push_back(
            {words_of(command.encoded()), not_after, runtime_.now(), std::move(handler), command.leaves_with_next(),
             command.urgency()});
    }
    [[nodiscard]] bool ready() const noexcept override { return state_ == redis::ConnectionState::ready; }
    [[nodiscard]] redis::ConnectionState state() const noexcept override { return state_; }
    void drop_abandoned() override {}
    void open() override { opened = true; }
    void hurry() override { ++hurried; }
    void on_state(std::function<void(redis::ConnectionState)> handler) override { on_state_ = std::move(handler); }
    void on_push(std::function<void(redis::resp::Value const&)> handler) override { on_push_ = std::move(handler); }
    [[nodiscard]] Instant oldest_unanswered() const noexcept override
    {
        if (ready())
            for (auto const& request : sent)
                if (request.open)
                    return request.since;
        return Instant::max();
    }
    [[nodiscard]] redis::ServerInfo const& server() const noexcept override { return info; }
    [[nodiscard]] std::string last_error() const override { return "not yet"; }
    void invalidate(std::string_view) override { invalidated = true; }
    void close() noexcept override
    {
        closed = true;
        for (auto& request : sent)
            if (std::exchange(request.open, false))
                runtime_.post([handler = std::move(request.handler), was_ready = ready()]() mutable {
                    redis::Outcome outcome;
                    outcome.delivery = was_ready ? redis::Delivery::unknown : redis::Delivery::not_sent;
                    outcome.error = errc::closed;
                    std::move(handler)(std::move(outcome));
                });
        state_ = redis::ConnectionState::closed;
    }

    void give_up() noexcept override
    {
        gave_up = true;
        close();
    }

    // -- for the test --
    void become(redis::ConnectionState state)
    {
        if (state == redis::ConnectionState::ready)
            login_ = ++logins;
        state_ = state;
        if (on_state_)
            on_state_(state);
    }
    void push(redis::resp::Value const& value) { on_push_(value); }

    /** Answers the oldest request that is open.
     *  @param ran_apart  a transaction whose MULTI was refused */
    void answer(redis::resp::Value reply, bool ran_apart = false)
    {
        for (auto& request : sent) {
            if (!std::exchange(request.open, false))
                continue;
            redis::Outcome outcome;
            outcome.delivery = redis::Delivery::answered;
            outcome.since = request.since;
            outcome.reply = std::move(reply);
            outcome.login = login_;
            outcome.ran_apart = ran_apart;
            outcome.refused_command = std::exchange(refused_command, std::nullopt);
            auto handler = std::move(request.handler);
            std::move(handler)(std::move(outcome));
            return;
        }
    }

    /// of the next answer: `Outcome::refused_command`
    std::optional<std::size_t> refused_command = {};

    [[nodiscard]] std::size_t unanswered() const
    {
        std::size_t count = 0;
        for (auto const& request : sent)
            count += request.open ? 1 : 0;
        return count;
    }

    std::string purpose;
    redis::ServerInfo info{"redis", "7.0.15", "standalone", "master", 3};
    /// a deque: references stay valid while more is sent
    std::deque<Sent> sent;
    bool opened = false;
    int hurried = 0;
    bool closed = false;
    bool invalidated = false;
    bool gave_up = false;

private:
    static std::vector<std::string> words_of(std::string_view encoded)
    {
        std::vector<std::string> words;
        while (!encoded.empty()) {
            // a transaction has a head for each of its commands
            if (encoded.front() == '*') {
                encoded.remove_prefix(encoded.find('\n') + 1);
                continue;
            }
            auto const length = std::stoul(std::string(encoded.substr(1, encoded.find('\r') - 1)));
            encoded.remove_prefix(encoded.find('\n') + 1);
            words.emplace_back(encoded.substr(0, length));
            encoded.remove_prefix(length + 2);
        }
        return words;
    }

    /// of all connections
    static inline std::uint64_t logins = 0;

    Runtime& runtime_;
    std::uint64_t login_ = 0;
    redis::ConnectionState state_ = redis::ConnectionState::idle;
    std::function<void(redis::ConnectionState)> on_state_;
    std::function<void(redis::resp::Value const&)> on_push_;
};

/** The connections that a backend under test has asked for, in order. */
struct FakeConnections {
    std::shared_ptr<Runtime> runtime;
    std::vector<std::shared_ptr<FakeConnection>> made;
    /// they are born ready
    bool ready_at_once = true;
    redis::ServerInfo info{"redis", "7.0.15", "standalone", "master", 3};

    [[nodiscard]] redis::ConnectionFactory factory()
    {
        return [this](std::string_view purpose) {
            auto connection = std::make_shared<FakeConnection>(*runtime, purpose);
            connection->info = info;
            if (ready_at_once)
                runtime->post([connection] {
                    if (!connection->closed)
                        connection->become(redis::ConnectionState::ready);
                });
            made.push_back(connection);
            return connection;
        };
    }
};

} // namespace tenure::test
