// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Topology: refreshes of the map of hash slots.
#include "topology.hpp"

#include "store/redis/wire/server_error.hpp"

#include <config/url.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// Pause between two refreshes; the longer one after a refresh without news.
constexpr auto shortest_refresh_pause = 250ms;
constexpr auto longest_refresh_pause = 1000ms;
// How long a node may take before a second one is asked in parallel, and before it is given up.
constexpr auto hedge_after = 300ms;
constexpr auto answer_within = 2000ms;
// The size of the reply of a thousand nodes, or with a separate range for each slot.
constexpr std::size_t map_reply_bytes = std::size_t{4} * 1024 * 1024;

} // namespace

Topology::Topology(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<ClusterNodes> nodes, std::vector<ServerAddress> seeds, bool tls,
    std::string name)
    : runtime_(std::move(runtime))
    , nodes_(std::move(nodes))
    , seeds_(std::move(seeds))
    , tls_(tls)
    , name_(std::move(name))
    , pause_(shortest_refresh_pause)
    , timer_(*runtime_)
{
}

void Topology::learn(HashSlot slot, ServerAddress const& master)
{
    auto const* const owner = map_.owner(slot);
    if (!closed_ && !master.host.empty() && (owner == nullptr || *owner != master)) {
        map_.assign(slot, slot, master);
        if (auto const handler = changed_)
            handler();
    }
    refresh();
}

void Topology::refresh()
{
    if (closed_)
        return;
    wanted_ = true;
    if (running_ || timer_.pending())
        return;
    if (runtime_->now() < not_before_)
        arm(not_before_);
    else
        begin();
}

void Topology::begin()
{
    running_ = true;
    wanted_ = false;
    ++refreshes_;
    not_before_ = runtime_->now() + pause_;
    until_ = runtime_->now() + answer_within;
    all_fatal_ = true;
    open_questions_ = 0;
    // taken from the back: connected masters first, in any order, then other masters, then seeds
    auto masters = map_.masters();
    for (auto i = masters.size(); i > 1; --i)
        std::swap(masters[i - 1], masters[static_cast<std::size_t>(runtime_->random() % i)]);
    std::ranges::stable_partition(masters, [this](ServerAddress const& address) {
        auto* const node = nodes_->find(address);
        return node == nullptr || !node->channel->ready();
    });
    candidates_.clear();
    for (auto const& seed : seeds_)
        if (std::ranges::find(masters, seed) == masters.end())
            candidates_.push_back(seed);
    std::ranges::reverse(candidates_);
    candidates_.insert(candidates_.end(), masters.begin(), masters.end());
    ask_next();
}

void Topology::ask_next()
{
    if (candidates_.empty()) {
        if (open_questions_ == 0)
            finish();
        else
            arm(until_);
        return;
    }
    auto const address = candidates_.back();
    candidates_.pop_back();
    ++open_questions_;
    arm(runtime_->now() + hedge_after);
    ask(address, refreshes_, false, {});
}

void Topology::ask(ServerAddress const& address, std::size_t refresh, bool by_slots, std::string refused)
{
    auto& node = nodes_->at(address);
    node.used = runtime_->now();
    resp::Command question("CLUSTER", by_slots ? "SLOTS" : "SHARDS");
    // requests wait for the map, so it does not wait behind them
    question.expect_reply_bytes(map_reply_bytes).set_urgency(resp::Urgency::step);
    // another node may have the map too, so each gets only one attempt to connect
    node.channel->execute(
        std::move(question), Deadline(runtime_->now() + answer_within).with_one_attempt(),
        [weak = weak_from_this(), address, refresh, by_slots, refused = std::move(refused)](Outcome outcome) {
            if (auto const self = weak.lock())
                self->answered(address, refresh, by_slots, refused, std::move(outcome));
        });
}

void Topology::answered(
    ServerAddress const& address, std::size_t refresh, bool by_slots, std::string const& refused, Outcome outcome)
{
    if (closed_ || !running_ || refresh != refreshes_)
        return;
    if (outcome.delivery != Delivery::answered) {
        failed(address, {outcome.error, std::move(outcome.detail), outcome.fatal});
        return;
    }
    if (outcome.reply.is_error()) {
        auto const text = std::string(outcome.reply.as_string());
        // a proxy hides the cluster behind it
        if (text.find("cluster support disabled") != std::string::npos || (by_slots && is_command_unavailable(text))) {
            failed(
                address, {errc::wrong_server,
                          "the server is no node of a cluster (" + classify(text).words + "): use " +
                              schemes::redis.prefix(tls_),
                          true});
        } else if (by_slots) {
            auto const error = classify(refused);
            failed(address, {error.error, redis::refused(error, "CLUSTER SHARDS", "").detail, error.fatal});
        } else {
            // before Redis 7, or permission only for the other command
            ask(address, refresh, true, text);
        }
        return;
    }
    AskedNode const asked{address, tls_};
    auto map = by_slots ? read_cluster_slots(outcome.reply, asked) : read_cluster_shards(outcome.reply, asked);
    if (!map) {
        nodes_->at(address).channel->invalidate("a malformed description of the cluster");
        failed(address, {errc::protocol_error, "a malformed description of the cluster", false});
        return;
    }
    if (map->covered() == 0) {
        failed(
            address,
            {errc::store_refused,
             tls_ ? "it names no master with a TLS port for any hash slot: set tls-cluster yes on all nodes, and "
                    "give slots to masters"
                  : "it names no master for any hash slot: give slots to masters (CLUSTER ADDSLOTS)",
             false});
        return;
    }
    bool const is_news = !known_ || *map != map_;
    pause_ = is_news ? shortest_refresh_pause : std::min<std::chrono::milliseconds>(pause_ * 2, longest_refresh_pause);
    map_ = std::move(*map);
    known_ = true;
    failure_ = {};
    if (is_news && runtime_->logs(LogLevel::info))
        runtime_->log(
            LogLevel::info, name_ + ": " + std::to_string(map_.masters().size()) + " masters serve " +
                                std::to_string(map_.covered()) + " of 16384 hash slots, told by " + to_string(address));
    finish();
}

void Topology::failed(ServerAddress const& address, Refusal const& why)
{
    all_fatal_ = all_fatal_ && why.fatal;
    failure_ = {why.error, "node " + to_string(address) + ": " + why.detail, all_fatal_};
    --open_questions_;
    ask_next();
}

void Topology::finish()
{
    running_ = false;
    timer_.cancel();
    if (!failure_.detail.empty())
        pause_ = std::min<std::chrono::milliseconds>(pause_ * 2, longest_refresh_pause);
    not_before_ = std::max(not_before_, runtime_->now() + pause_ / 2);
    if (auto const handler = changed_)
        handler();
    if (wanted_ && !running_ && !closed_ && !timer_.pending())
        arm(not_before_);
}

void Topology::timer_reached()
{
    if (!running_) {
        if (wanted_)
            begin();
    } else if (runtime_->now() < until_) {
        ask_next();
    } else {
        failure_ = {errc::store_unavailable, "no node told in time who serves which hash slot", false};
        finish();
    }
}

void Topology::close() noexcept
{
    closed_ = true;
    changed_ = nullptr;
    timer_.cancel();
}

} // namespace tenure::redis
