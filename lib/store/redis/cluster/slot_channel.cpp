// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SlotChannel: sends the commands for one hash slot, and follows redirects.
#include "slot_contexts.hpp"

#include <runtime/immortal.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// How long a command may wait in the queue of a node without a connection before the owner of the slot is looked up
// again.
constexpr auto longest_queueing = 100ms;

} // namespace

/** A pending command. */
class SlotChannel::Request : public std::enable_shared_from_this<SlotChannel::Request>
{
public:
    Request(std::shared_ptr<SlotChannel> channel, resp::Command command, Deadline not_after, OutcomeHandler handler)
        : channel_(std::move(channel))
        , command_(std::move(command))
        , not_after_(std::move(not_after))
        , handler_(std::move(handler))
        , rules_(channel_->migration_, not_after_.at(), [runtime = cluster().runtime()] { return runtime->random(); })
        , waited_for_map_(channel_->awaited_map_)
    {
    }

    void go()
    {
        if (cluster().closed()) {
            end_unsent(errc::closed, "the store was closed", false);
            return;
        }
        auto* const node = cluster().serving(channel_->slot_);
        if (node != nullptr) {
            if (channel_->longest_ttl_ > 0ms)
                node->channel->note_ttl(channel_->longest_ttl_);
            send(*node, false);
        } else {
            wait_for_map();
        }
    }

private:
    [[nodiscard]] Cluster& cluster() const noexcept { return *channel_->cluster_; }
    [[nodiscard]] Instant now() const noexcept { return cluster().runtime()->now(); }

    void wait_for_map()
    {
        auto const& topology = cluster().topology();
        auto const& failure = topology.failure();
        if (waited_for_map_ && (failure.fatal || (failure.error && not_after_.one_attempt()))) {
            end_unsent(failure.error, failure.detail, failure.fatal);
        } else if (not_after_.over(now())) {
            bool const says_why = !topology.known() && failure.error;
            end_unsent(
                says_why ? failure.error : make_error_code(errc::store_unavailable),
                topology.known() ? "no node is known that serves hash slot " + std::to_string(channel_->slot_)
                                 : "who serves which hash slot is not known: " + failure.detail,
                false);
        } else {
            waited_for_map_ = true;
            cluster().wait(not_after_, true, [self = shared_from_this()] { self->go(); });
        }
    }

    void send(ClusterNode& node, bool asking)
    {
        auto const address = node.address;
        // another node may serve the slot by then, so one lost node does not end the request
        auto const latest = node.channel->ready() ? not_after_.at() : now() + longest_queueing;
        auto const until = not_after_.no_later_than(latest).with_one_attempt(false);
        asking_refused_ = {};
        if (asking) {
            resp::Command ask("ASKING");
            ask.leave_with_next().set_urgency(command_.urgency()).need_connection();
            node.channel->execute(std::move(ask), until, [self = shared_from_this()](Outcome outcome) {
                if (outcome.refused())
                    self->asking_refused_ = std::move(outcome.reply);
            });
        }
        auto command = command_.copy();
        command.need_connection();
        node.channel->execute(std::move(command), until, [self = shared_from_this(), address](Outcome outcome) {
            self->answered(address, std::move(outcome));
        });
    }

    void answered(ServerAddress const& address, Outcome outcome)
    {
        if (outcome.delivery == Delivery::answered) {
            channel_->answered_by_ = address;
            redirect_or_end(address, std::move(outcome));
            return;
        }
        if (!outcome.unwanted)
            cluster().topology().refresh();
        bool const is_final = outcome.delivery == Delivery::unknown || outcome.fatal || outcome.unwanted ||
                              cluster().closed() || not_after_.over(now());
        if (is_final || !decide(rules_.not_sent(now()))) {
            if (!outcome.detail.empty())
                outcome.detail = "node " + to_string(address) + ": " + outcome.detail;
            end(std::move(outcome));
        }
    }

    void redirect_or_end(ServerAddress const& address, Outcome outcome)
    {
        auto const redirect = read_redirect(outcome.reply, address);
        if (!redirect) {
            end(std::move(outcome));
            return;
        }
        if (redirect->kind == Redirect::Kind::moved && !asking_refused_.is_null()) {
            // without ASKING the command would be redirected forever
            outcome.reply = std::move(asking_refused_);
            end(std::move(outcome));
            return;
        }
        if (redirect->kind == Redirect::Kind::moved)
            cluster().topology().learn(redirect->slot, redirect->address);
        else if (redirect->kind == Redirect::Kind::down)
            cluster().topology().refresh();
        if (!decide(rules_.redirected(*redirect, now()))) {
            outcome.reply = given_up_reply(*redirect, std::move(outcome.reply));
            end(std::move(outcome));
        }
    }

    /// @returns false if there are no further attempts
    bool decide(RedirectRules::Decision const& decision)
    {
        if (std::holds_alternative<RedirectRules::GiveUp>(decision))
            return false;
        if (auto const* const wait = std::get_if<RedirectRules::Wait>(&decision)) {
            cluster().wait(not_after_.no_later_than(wait->until), false, [self = shared_from_this()] { self->go(); });
            return true;
        }
        auto const& asking = std::get<RedirectRules::Send>(decision).asking;
        if (!asking) {
            go();
        } else {
            auto& node = cluster().nodes().at(*asking);
            node.used = now();
            send(node, true);
        }
        return true;
    }

    void end(Outcome outcome) { std::move(handler_)(std::move(outcome)); }

    void end_unsent(error_code error, std::string detail, bool fatal)
    {
        Outcome outcome;
        outcome.error = error;
        outcome.detail = std::move(detail);
        outcome.fatal = fatal;
        cluster().runtime()->post([handler = std::move(handler_), outcome = std::move(outcome)]() mutable {
            std::move(handler)(std::move(outcome));
        });
    }

    std::shared_ptr<SlotChannel> channel_;
    resp::Command command_;
    Deadline not_after_;
    OutcomeHandler handler_;
    RedirectRules rules_;
    /// the node's error for the ASKING before the command; null: no error
    resp::Value asking_refused_;
    bool waited_for_map_;
};

SlotChannel::SlotChannel(std::shared_ptr<Cluster> cluster, HashSlot slot, Migration migration)
    : cluster_(std::move(cluster))
    , slot_(slot)
    , migration_(migration)
{
}

void SlotChannel::execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler)
{
    std::make_shared<Request>(shared_from_this(), std::move(command), std::move(not_after), std::move(handler))->go();
}

ClusterNode* SlotChannel::known_node() const noexcept
{
    auto const* const owner = cluster_->topology().map().owner(slot_);
    return owner == nullptr ? nullptr : cluster_->nodes().find(*owner);
}

bool SlotChannel::ready()
{
    auto* const node = cluster_->closed() ? nullptr : cluster_->serving(slot_);
    if (node == nullptr)
        return false;
    if (node->channel->ready())
        return true;
    // a first connection is no reason to doubt the map
    if (node->channel->generation() != 0)
        cluster_->topology().refresh();
    return false;
}

bool SlotChannel::connected()
{
    auto* const node = cluster_->closed() ? nullptr : cluster_->serving(slot_);
    return node != nullptr && (ready() || node->channel->connected());
}

store::ClaimWindow* SlotChannel::claims()
{
    auto const* const owner = cluster_->closed() ? nullptr : cluster_->topology().map().owner(slot_);
    return owner == nullptr ? nullptr : cluster_->nodes().at(*owner).channel->claims();
}

void SlotChannel::await_server(Deadline const& until, std::function<void()> task)
{
    if (cluster_->closed()) {
        cluster_->runtime()->post(std::move(task));
        return;
    }
    cluster_->topology().refresh();
    cluster_->wait(until, true, [self = shared_from_this(), task = std::move(task)] {
        // what the task sends need not wait for the same failure again
        self->awaited_map_ = true;
        task();
        self->awaited_map_ = false;
    });
}

std::string SlotChannel::last_error() const
{
    if (auto const* const at = known_node())
        return "node " + to_string(at->address) + ": " + at->channel->last_error();
    auto const& failure = cluster_->topology().failure().detail;
    return failure.empty() ? "who serves the hash slot is not known yet" : failure;
}

ServerInfo const& SlotChannel::server() const noexcept
{
    static Immortal<ServerInfo> const unknown;
    auto const* const at = known_node();
    return at == nullptr ? *unknown : at->channel->server();
}

std::uint64_t SlotChannel::generation() const noexcept
{
    auto const* const at = known_node();
    return at == nullptr ? 0 : (at->serial << 32U) + at->channel->generation();
}

Refusals& SlotChannel::refusals() noexcept
{
    auto const* const at = known_node();
    return at == nullptr ? of_unknown_node_ : at->channel->refusals();
}

void SlotChannel::note_ttl(std::chrono::milliseconds ttl) noexcept
{
    longest_ttl_ = std::max(longest_ttl_, ttl);
    if (auto const* const at = known_node())
        at->channel->note_ttl(ttl);
}

void SlotChannel::invalidate(std::string_view what)
{
    if (auto* const at = cluster_->nodes().find(answered_by_))
        at->channel->invalidate(what);
}

bool SlotChannel::is_lost()
{
    auto const* const at = known_node();
    return at != nullptr && at->channel->generation() != 0 && !ready();
}

std::string SlotChannel::place() const
{
    return answered_by_.host.empty() ? std::string() : to_string(answered_by_);
}

} // namespace tenure::redis
