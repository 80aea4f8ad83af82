// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slow_server.hpp"

#include <store/claim_window.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenure::simulation
{

/** A store's client as the stores of the library are built: a window of claims, and three queues, each first in, first
 *  out. A claim takes two requests, and up to 100 renewals share one. */
class QueuedClient final : public Backend, public std::enable_shared_from_this<QueuedClient>
{
public:
    /** The order in which requests leave. */
    enum class Kind : std::uint8_t { renewal, later_step, first_step };

    /** How it writes requests. */
    enum class Writes : std::uint8_t {
        /// one request on each connection, as over HTTP/1.1
        one_per_connection,
        /// all at once on one connection, as Redis' clients do
        pipelined
    };

    /** @param window  the most claims that have begun, and the number of connections */
    QueuedClient(std::shared_ptr<Runtime> runtime, SlowServer& server, std::size_t window, Writes writes);

    /** The most claims of one owner. */
    [[nodiscard]] unsigned most_claims() const noexcept { return most_claims_; }
    /** The longest time that a written request took to be answered, or has been unanswered until now. */
    [[nodiscard]] Clock::duration longest_silence() const noexcept;
    /** The most renewals of one lease that were pending at a time. */
    [[nodiscard]] unsigned most_renewals() const noexcept { return most_renewals_; }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override;
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override;
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override;
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override;
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override;
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override;
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override;
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override;
    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override;
    void on_reachable(std::function<void()>) override {}
    void shortest_ttl(std::chrono::milliseconds) override {}
    void drop_abandoned() override { window_->drop_abandoned(); }
    [[nodiscard]] std::string describe() const override { return "slow://"; }
    void shutdown() noexcept override;

private:
    struct Pending;
    using PendingPtr = std::shared_ptr<Pending>;

    void
    begin(std::shared_ptr<ClaimRequest> request, store::ClaimWindow::Place place, ReplyHandler<ClaimReply> handler);
    void send(Kind kind, Deadline deadline, OneShot<void()> execute, OneShot<void()> answered);
    void pump();
    template <class Reply>
    void refuse(ReplyHandler<Reply> handler);

    std::shared_ptr<Runtime> runtime_;
    SlowServer& server_;
    /// the most requests that are written and unanswered
    std::size_t most_written_;
    std::shared_ptr<store::ClaimWindow> window_;
    std::array<std::deque<PendingPtr>, 3> queues_;
    std::size_t written_ = 0;
    bool closed_ = false;
    /// claims of each owner
    std::unordered_map<std::string, unsigned> claims_;
    /// pending renewals of each owner
    std::unordered_map<std::string, unsigned> renewals_;
    /// of the unanswered requests; the server answers in their order
    std::deque<Instant> written_at_;
    Clock::duration longest_answer_{};
    unsigned most_claims_ = 0;
    unsigned most_renewals_ = 0;
};

} // namespace tenure::simulation
