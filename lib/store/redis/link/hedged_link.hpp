// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_channel.hpp"
#include "connection.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** The way to one server: a connection, and beside it a second one while the first is silent.
 *
 *  A silent connection must not cost leases while the server can be reached. When the oldest unanswered request is
 * older than min(1 s, shortest held ttl / 6), new requests go to a second connection; the first is still read, because
 * it may bring grants that must be given back, and closed once all its requests are answered, or a ttl later. Requests
 * go to whichever of the two works.
 */
class HedgedLink final : public CommandChannel, public std::enable_shared_from_this<HedgedLink>
{
    struct Private {
        explicit Private() = default;
    };

public:
    [[nodiscard]] static std::shared_ptr<HedgedLink> make(std::shared_ptr<Runtime> runtime, ConnectionFactory connect);
    HedgedLink(Private, std::shared_ptr<Runtime> runtime, ConnectionFactory connect);
    HedgedLink(HedgedLink const&) = delete;
    HedgedLink& operator=(HedgedLink const&) = delete;
    ~HedgedLink() override;

    /** Sends a command over the connection that works. */
    void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) override;

    [[nodiscard]] bool ready() override;
    [[nodiscard]] std::string last_error() const override;
    [[nodiscard]] ServerInfo const& server() const noexcept override { return server_; }
    /** Grows with each handshake. */
    [[nodiscard]] std::uint64_t generation() const noexcept override { return generation_; }
    [[nodiscard]] std::string place() const override { return server_.address; }

    /** Called whenever the server becomes reachable (again). */
    void on_reachable(std::function<void()> handler) { on_reachable_ = std::move(handler); }

    /** The shortest ttl held; zero: none. */
    void shortest_ttl(std::chrono::milliseconds ttl);

    void note_ttl(std::chrono::milliseconds ttl) noexcept override;

    void drop_abandoned();

    /** Silence of the server may last so much longer: what it is asked here takes time. */
    void expect_delay(std::chrono::milliseconds delay) noexcept { delay_ = delay; }

    /** Which connection got the last command; only to be compared. */
    [[nodiscard]] void const* target() const noexcept { return current_.get(); }

    /** Connects anew, resolving the name again. Does nothing if that was done a moment ago. */
    void reconnect() override;
    void distrust(std::string_view what) override;

    /** When the oldest unanswered request was written; Instant::max() if there is none. */
    [[nodiscard]] Instant oldest_unanswered() const noexcept;

    /** Ends both connections; from now on everything is answered `not_sent`. */
    void close() noexcept;

    /** The same while the store stays open: requests under way end as those of a lost connection. */
    void give_up() noexcept;

private:
    [[nodiscard]] std::shared_ptr<Connection> make_connection(std::string_view purpose);
    [[nodiscard]] std::chrono::nanoseconds patience() const noexcept;
    void state_changed(Connection const* connection, ConnectionState state);
    void replace_current(std::string_view purpose, bool keep_old_usable);
    void use_other_if_it_works();
    void watch_silence();
    void arm(Instant when);
    void tick();
    void retire_other();

    std::shared_ptr<Runtime> runtime_;
    ConnectionFactory connect_;
    /// where new requests go; null before the first request and after `close`
    std::shared_ptr<Connection> current_;
    /// the silent or replaced one, still read; usually null
    std::shared_ptr<Connection> other_;
    /// false: `other_` reached a server that is the wrong one for now
    bool other_usable_ = false;
    /// when `other_` is closed at the latest
    Instant other_until_{};
    ServerInfo server_;
    std::uint64_t generation_ = 0;
    std::function<void()> on_reachable_;
    std::chrono::milliseconds shortest_ttl_{};
    std::chrono::milliseconds delay_{};
    std::chrono::milliseconds longest_ttl_{std::chrono::seconds{1}};
    Instant last_reconnect_ = Instant::min();
    /// when a connection was last opened because of silence
    Instant last_silence_{};
    Timer timer_;
    Instant timer_at_{};
    /// the timer came late and gave the loop time to read first; not twice in a row
    bool postponed_ = false;
    /// something was sent since the timer last looked
    bool sent_ = false;
    bool closed_ = false;
};

} // namespace tenure::redis
