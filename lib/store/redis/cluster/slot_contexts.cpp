// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SlotContexts: creates and removes the parts for a hash slot.
#include "slot_contexts.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

namespace tenure::redis
{

namespace
{

// About a megabyte; above it, slots without recent requests are removed.
constexpr std::size_t many_slots = 1024;
constexpr std::chrono::minutes kept_unused{1};

} // namespace

SlotContext& SlotContexts::at(HashSlot slot)
{
    auto found = slots_.find(slot);
    if (found == slots_.end()) {
        if (slots_.size() >= many_slots && slots_.size() % many_slots == 0)
            forget_unused();
        auto const in_slot = ":{" + slot_number(slot) + "}";
        auto const marker = delays_after_failover_ ? std::string(failover_marker) + in_slot : std::string();
        auto const fence = std::string(fence_counter) + in_slot;
        auto const server = [&](std::shared_ptr<SlotChannel> channel) {
            return std::make_shared<ServerContext>(
                cluster_->runtime(), std::move(channel),
                ServerSettings{
                    cluster_->name(), cluster_->waiter(), delays_after_failover_, marker,
                    ServerContext::Audience::shard, fence, layout_});
        };
        auto const channel = [&](Migration migration) {
            return std::make_shared<SlotChannel>(cluster_, slot, migration);
        };
        SlotContext entry;
        entry.channel = channel(Migration::follow);
        entry.follows = server(entry.channel);
        entry.waits = server(channel(Migration::wait));
        entry.fails_fast = server(channel(Migration::fail_fast));
        entry.claims = std::make_shared<Claims>(entry.waits);
        entry.multi_slot_claims = std::make_shared<Claims>(entry.fails_fast);
        entry.releases = std::make_shared<Releases>(entry.follows);
        entry.places = std::make_shared<Places>(entry.follows);
        found = slots_.emplace(slot, std::move(entry)).first;
    }
    found->second.used = cluster_->runtime()->now();
    return found->second;
}

void SlotContexts::forget_unused()
{
    // pending requests own the parts they need; a new context of the slot shares nothing with them
    std::erase_if(slots_, [now = cluster_->runtime()->now()](auto const& entry) {
        return now >= entry.second.used + kept_unused;
    });
}

} // namespace tenure::redis
