// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_channel.hpp"
#include "connection.hpp"
#include "runtime/names.hpp"
#include "runtime/repeat_schedule.hpp"
#include "runtime/timer.hpp"

#include <store/claim_window.hpp>

#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** The link to one server: a connection, and a second one while the first is silent.
 *
 *  A silent connection must not cost leases while the server is reachable. When a request is unanswered and no answer
 *  came for min(1 s, shortest held ttl / 6), new and unwritten requests go to a second connection. The first is still
 *  read, because it may bring grants that must be given back. It is closed once all its requests are answered, or after
 *  one ttl. If the first answers again, requests can return to it. */
class HedgedLink final : public CommandChannel, public std::enable_shared_from_this<HedgedLink>
{
public:
    HedgedLink(std::shared_ptr<Runtime> runtime, ConnectionFactory connect);
    HedgedLink(HedgedLink const&) = delete;
    HedgedLink& operator=(HedgedLink const&) = delete;
    ~HedgedLink() override;

    /** Most claims that have begun on one connection. More do not make the server faster (docs/contributors/
     *  performance.md), and what has begun cannot be dropped one by one. */
    static constexpr std::size_t most_claims = 256;

    /** Sends a command over the working connection. */
    void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) override;

    [[nodiscard]] bool ready() override;
    [[nodiscard]] bool connected() override;
    [[nodiscard]] store::ClaimWindow* claims() override { return claims_.get(); }
    [[nodiscard]] std::string last_error() const override;
    [[nodiscard]] ServerInfo const& server() const noexcept override { return server_; }
    /** Grows with each handshake. */
    [[nodiscard]] std::uint64_t generation() const noexcept override { return generation_; }
    [[nodiscard]] Refusals& refusals() noexcept override { return refusals_; }
    [[nodiscard]] std::string place() const override { return server_.address; }

    /** Sets the handler that is called each time the server becomes reachable. If a second connection was opened
     * because the first was silent, it is called only if the first stays silent, because unanswered requests are then
     * repeated.
     */
    void on_reachable(std::function<void()> handler) { on_reachable_ = std::move(handler); }

    /** The shortest held ttl; zero: no leases. */
    void shortest_ttl(std::chrono::milliseconds ttl);

    void note_ttl(std::chrono::milliseconds ttl) noexcept override;

    void drop_abandoned();

    /** Extends the tolerated silence of the server, because its commands take this long. */
    void expect_delay(std::chrono::milliseconds delay) noexcept { delay_ = delay; }

    /** The connection that got the last command, for comparisons only. */
    [[nodiscard]] void const* target() const noexcept { return current_.get(); }

    /** Reconnects and resolves the name again. No effect shortly after the last reconnect. */
    void reconnect() override;
    void invalidate(std::string_view what) override;

    /** When the oldest unanswered request was written; Instant::max(): all are answered. */
    [[nodiscard]] Instant oldest_unanswered() const noexcept;

    /** Closes both connections; later requests end as `not_sent`. */
    void close() noexcept;

    /** As `close` while the store stays open: pending requests end as after a lost connection. */
    void give_up() noexcept;

private:
    [[nodiscard]] std::shared_ptr<Connection> make_connection(std::string_view purpose);
    [[nodiscard]] std::chrono::nanoseconds patience() const noexcept;
    void state_changed(Connection const* connection, ConnectionState state);
    void replace_current(std::string_view purpose, bool keep_old_usable);
    void use_other_if_it_works();
    void swap_connections();
    void refuse_claims(error_code error, char const* why) noexcept;
    void notify_reachable();
    /** Tells it if the replaced connection is still silent. */
    void notify_reachable_if_silent();
    void watch_silence();
    void arm(Instant when);
    void tick();
    void retire_other();

    std::shared_ptr<Runtime> runtime_;
    ConnectionFactory connect_;
    /// connection for new requests; null before the first request and after `close`
    std::shared_ptr<Connection> current_;
    /// the silent or replaced connection, still read; usually null
    std::shared_ptr<Connection> other_;
    /// false: `other_` reached a server that is currently the wrong one
    bool other_usable_ = false;
    /// latest time to close `other_`
    Instant other_until_{};
    ServerInfo server_;
    std::uint64_t generation_ = 0;
    Refusals refusals_;
    std::function<void()> on_reachable_;
    /// the second connection works, and it is not known yet whether the first one has answered meanwhile
    bool reachable_due_ = false;
    /// claims that have begun on `current_`, and those that wait
    store::ClaimWindowPtr claims_;
    std::chrono::milliseconds shortest_ttl_{};
    std::chrono::milliseconds delay_{};
    std::chrono::milliseconds longest_ttl_{std::chrono::seconds{1}};
    Instant last_reconnect_ = Instant::min();
    /// when silence last caused a new connection
    Instant last_silence_{};
    RepeatSchedule logged_silences_;
    Timer timer_;
    /// the timer was late and gave the loop time to read first; not twice in a row
    bool postponed_ = false;
    bool closed_ = false;
};

} // namespace tenure::redis
