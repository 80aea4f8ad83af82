// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "access.hpp"
#include "message.hpp"
#include "model.hpp"

#include <tenure/backend/backend.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace tenure::simulation
{

class MessageNetwork;
class Process;
class World;

/** One process's connection to the store, as a store's client keeps it: what could not be written waits or is not sent,
 *  what was written and stays unanswered ends as unknown, and a connection that broke is made again. */
class Link final : public Receiver, public Access
{
public:
    using Handler = std::variant<
        ReplyHandler<ClaimReply>, ReplyHandler<RenewReply>, ReplyHandler<ReleaseReply>, ReplyHandler<WithdrawReply>>;

    struct Request {
        Message message;
        /// before it was written
        Instant since{};
        std::optional<Instant> earliest_attempt;
        Deadline not_after;
        bool written = false;
        bool doomed = false;
        std::optional<Handler> handler;
    };

    Link(World& world, MessageNetwork& network, Process& process) noexcept;

    // -- for the backend, on the strand --
    void ask(Request request);
    void drop_abandoned();
    void watch(RangeId range, WatchHandler handler);
    void unwatch(RangeId range) noexcept;
    void leave_line(RangeId range);
    void on_reachable(std::function<void()> handler) { reachable_ = std::move(handler); }

    // -- for the process --
    void begin(std::uint64_t seed) override;
    [[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime) override;
    /** A new life begins, or the old one has ended: nothing of before counts. */
    void clear() noexcept override;
    [[nodiscard]] bool idle() const noexcept override;
    /** The connection is cut. */
    void cut() override;

    // -- for the network and the checker --
    void answered(Message const& message);
    void hinted(RangeId range, WatchEvent event);
    void will_stay_unanswered(std::uint32_t link, std::uint64_t request);
    /** The sender still waits for the answer, or never did and is there. */
    [[nodiscard]] bool outstanding(Message const& message) const noexcept;
    [[nodiscard]] bool listens(RangeId range) const noexcept override
    {
        return watches_[static_cast<std::size_t>(range)].in_force;
    }
    [[nodiscard]] bool asking(OwnerId owner) const noexcept override;
    [[nodiscard]] bool claiming(RangeId range) const noexcept override;
    [[nodiscard]] unsigned claims_of(OwnerId owner) const noexcept override;
    [[nodiscard]] bool connected() const noexcept { return connected_; }

    void on_event(std::uint32_t what, std::uint64_t value) override;

private:
    enum What : std::uint32_t { give_up, connect, expire, in_force, hedge };
    struct Subscription {
        WatchHandler handler;
        bool in_force = false;
        std::uint32_t number = 0;
    };

    void connect_soon();
    void happens(std::uint32_t what, std::uint64_t value);
    [[nodiscard]] Request* find(std::uint64_t id) noexcept;
    void write(Request& request);
    void connected_now();
    void disconnect();
    void finish(Request& request, bool unknown);
    void subscribe(RangeId range);
    template <class Reply>
    void reply(Request& request, Reply answer);
    void notify(RangeId range, WatchEvent event);
    void tidy();

    World& world_;
    MessageNetwork& network_;
    Process& process_;
    Random random_;
    bool connected_ = false;
    /// which link this is: one that was cleared knows nothing of what was asked before
    std::uint32_t number_ = 0;
    std::uint64_t last_request_ = 0;
    /// in the order in which they were asked; finished ones have no handler
    std::vector<Request> requests_;
    std::array<Subscription, range_count> watches_{};
    std::function<void()> reachable_;
};

} // namespace tenure::simulation
