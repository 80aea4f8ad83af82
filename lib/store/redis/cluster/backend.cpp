// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend of a Redis Cluster.
#include "backend.hpp"

#include "cluster.hpp"
#include "cluster_subscriber.hpp"
#include "operations.hpp"
#include "remote_line.hpp"
#include "slot_contexts.hpp"

#include "store/redis/config/config.hpp"
#include "store/redis/key_names.hpp"
#include "store/redis/link/connection.hpp"
#include "store/redis/observer.hpp"
#include "store/redis/operations.hpp"
#include "store/redis/renewals.hpp"
#include "store/redis/shares/places.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

/** Sends the renewals of one hash slot together. */
void renew_by_slot(SlotContexts& slots, std::vector<RenewRequest> requests, RenewHandler handler)
{
    struct Part {
        std::vector<RenewRequest> requests;
        /// positions among the requests of the call
        std::vector<std::size_t> numbers;
    };
    std::map<HashSlot, Part> parts;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        auto& part = parts[hash_slot(requests[i].claim->key())];
        part.requests.push_back(std::move(requests[i]));
        part.numbers.push_back(i);
    }
    auto const shared = std::make_shared<RenewHandler const>(std::move(handler));
    for (auto& [slot, part] : parts)
        renew(
            slots.at(slot).follows, std::move(part.requests),
            [shared, numbers = std::move(part.numbers)](std::span<RenewAnswer> answers) {
                for (auto& answer : answers)
                    answer.request = numbers[answer.request];
                (*shared)(answers);
            });
}

/** A single key follows its migrating slot; several keys may be at two nodes. */
ServerPtr const& node_of(SlotContexts& slots, KeyRange const& range, HashSlot slot)
{
    auto const& context = slots.at(slot);
    return range.count == 1 ? context.follows : context.waits;
}

/** Releases a key whose line is in another hash slot. */
store::Request<ReleaseReply> release_and_announce(std::shared_ptr<SlotContexts> slots, ReleaseRequest request)
{
    auto const claim = request.claim;
    request.notifications = false;
    auto const releases = slots->of(*claim->range, claim->index).releases;
    store::Step<ReleaseReply> release(
        [&](ReplyHandler<ReleaseReply> handler) { releases->add(std::move(request), std::move(handler)); });
    auto reply = co_await release;
    if (std::holds_alternative<Released>(reply)) {
        auto notify = announce(slots, claim->range, claim->index, 1);
        reply = Released{co_await notify};
    }
    co_return std::move(reply);
}

/** Withdraws, and notifies the waiters that the withdrawal itself cannot reach. */
store::Request<WithdrawReply> withdraw_and_announce(std::shared_ptr<SlotContexts> slots, WithdrawRequest request)
{
    auto const range = request.range;
    auto const slot = shared_slot(*range);
    bool const announces = request.notifications && (!slot || has_remote_line(*range, 0));
    request.notifications = request.notifications && !announces;
    auto free_keys =
        store::as_step(slot ? withdraw(node_of(*slots, *range, *slot), request) : multi_slot_withdraw(slots, request));
    auto withdrawn = co_await free_keys;
    if (announces && withdrawn.freed > 0) {
        auto notify = announce(slots, range, 0, withdrawn.freed);
        co_await notify;
    }
    co_return std::move(withdrawn.reply);
}

/** Backend of a cluster: hands each request to the hash slot of its keys, or to the operations on many slots. Pending
 *  requests own those parts, never this object, so dropping it closes the connections. */
class ClusterBackend final : public Backend
{
public:
    ClusterBackend(std::shared_ptr<Runtime> runtime, ClusterAccess access)
        : for_examination_{{}, access.delay_after_failover, access.connect}
        , layout_(access.lock_layout)
        , cluster_(Cluster::make(std::move(runtime), std::move(access)))
        , slots_(std::make_shared<SlotContexts>(cluster_, for_examination_.delay_after_failover, layout_))
        , subscriber_(std::make_shared<ClusterSubscriber>(cluster_))
    {
        cluster_->on_change([weak = std::weak_ptr(subscriber_)] {
            if (auto const subscriber = weak.lock())
                subscriber->follow_map();
        });
        cluster_->on_channel_moved(
            [weak = std::weak_ptr(subscriber_)](ServerAddress const& asked, std::string const& channel) {
                if (auto const subscriber = weak.lock())
                    subscriber->channel_moved(asked, channel);
            });
    }

    ClusterBackend(ClusterBackend const&) = delete;
    ClusterBackend& operator=(ClusterBackend const&) = delete;
    ~ClusterBackend() override { ClusterBackend::shutdown(); }

    [[nodiscard]] Capabilities capabilities() const noexcept override { return capabilities_of_redis(layout_); }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        auto const slot = shared_slot(*request.range);
        bool const line_is_elsewhere = request.waits != Waits::no && slot != hash_slot(line_of(*request.range));
        auto attempt = [slots = slots_, slot](ClaimRequest one, ReplyHandler<ClaimReply> answer) {
            if (slot)
                slots->at(*slot).claims->add(std::move(one), std::move(answer));
            else
                multi_slot_claim(slots, std::move(one)).start(std::move(answer));
        };
        if (line_is_elsewhere)
            claim_in_line(slots_, std::move(attempt), std::move(request)).start(std::move(handler));
        else
            attempt(std::move(request), std::move(handler));
    }

    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        renew_by_slot(*slots_, std::move(requests), std::move(handler));
    }

    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        auto const& claim = *request.claim;
        auto const& slot = slots_->of(*claim.range, claim.index);
        bool const is_place = claim.range->shares;
        if (request.keep_for)
            (is_place ? detach_place : redis::detach)(slot.follows, std::move(request)).start(std::move(handler));
        else if (is_place)
            slot.places->release(std::move(request), std::move(handler));
        else if (request.notifications && has_remote_line(*claim.range, claim.index))
            release_and_announce(slots_, std::move(request)).start(std::move(handler));
        else
            slot.releases->add(std::move(request), std::move(handler));
    }

    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        if (request.range->shares)
            slots_->of(*request.range, 0).places->withdraw(std::move(request), std::move(handler));
        else
            withdraw_and_announce(slots_, std::move(request)).start(std::move(handler));
    }

    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        auto const& context = *slots_->of(*range, 0).follows;
        // releases of Redisson's locks are always published
        if (as == WatchAs::waiter || context.is_redisson(*range))
            return subscriber_->watch(context.channel_of(*range), std::move(handler));
        auto const subscribe = [&](Observers::Handler observer) {
            return subscriber_->watch(channel_of(*range), std::move(observer));
        };
        auto const node = slots_->at(hash_slot(watched_key_of(*range))).follows;
        return observers_.watch(node, *range, subscribe, std::move(handler));
    }

    void leave_line(KeyRangePtr range) override
    {
        auto const node = slots_->at(hash_slot(line_of(*range))).follows;
        redis::leave_line(node, std::move(range));
    }

    /** Checks the map, and the node that serves the first hash slot. */
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        redis::ready(slots_->at(0).follows, not_after).start(std::move(handler));
    }

    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        auto const slot = shared_slot(*request.range);
        auto steps = slot ? redis::inspect(node_of(*slots_, *request.range, *slot), request)
                          : multi_slot_inspect(slots_, request);
        std::move(steps).start(std::move(handler));
    }

    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        list_cluster(cluster_, std::move(request)).start(std::move(handler));
    }

    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        auto const& node = slots_->of(*request.range, request.index).follows;
        (request.range->shares ? evict_place : redis::evict)(node, std::move(request)).start(std::move(handler));
    }

    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        examine_cluster(cluster_, for_examination_, ttl, not_after).start(std::move(handler));
    }

    void on_reachable(std::function<void()> handler) override { cluster_->on_reachable(std::move(handler)); }

    void shortest_ttl(std::chrono::milliseconds ttl) override { cluster_->nodes().shortest_ttl(ttl); }

    void drop_abandoned() override
    {
        slots_->searches().drop_abandoned();
        cluster_->drop_abandoned();
    }
    [[nodiscard]] std::string describe() const override { return cluster_->name(); }

    void shutdown() noexcept override
    {
        cluster_->close();
        observers_.close();
    }

private:
    ExamineSettings for_examination_;
    LockLayout layout_;
    std::shared_ptr<Cluster> cluster_;
    std::shared_ptr<SlotContexts> slots_;
    std::shared_ptr<ClusterSubscriber> subscriber_;
    Observers observers_;
};

} // namespace

std::shared_ptr<Backend>
make_cluster_backend(std::shared_ptr<Runtime> runtime, RedisClusterConfig const& config, StreamFactory streams)
{
    check_config(config);
    streams = with_address_map(std::move(streams), config.address_map);
    ClusterAccess access;
    access.connect = connect_like(runtime, server_config(config), std::move(streams), {.proves_scripts = true});
    access.seeds = config.seeds;
    access.tls = config.tls.enabled;
    access.name = describe(config);
    access.delay_after_failover = config.delay_after_failover;
    access.lock_layout = config.lock_layout;
    return make_cluster_backend(std::move(runtime), std::move(access));
}

std::shared_ptr<Backend> make_cluster_backend(std::shared_ptr<Runtime> runtime, ClusterAccess access)
{
    return std::make_shared<ClusterBackend>(std::move(runtime), std::move(access));
}

} // namespace tenure::redis
