// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The hash slots of a cluster as seen by the operations on their keys: each slot like one server.
#pragma once

#include "cluster.hpp"
#include "hash_slot.hpp"
#include "redirect.hpp"

#include "runtime/names.hpp"
#include "store/redis/claim/claim.hpp"
#include "store/redis/link/command_channel.hpp"
#include "store/redis/releases.hpp"
#include "store/redis/server_context.hpp"
#include "store/redis/shares/places.hpp"

#include <store/claim_window.hpp>

#include <tenure/key_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** Carries commands to the node that serves one hash slot. It follows redirects, which the operations do not see. If
 *  the node is unreachable, it holds commands back unwritten until `not_after` or until another node serves the slot.
 *  All keys of a command must be in this slot. */
class SlotChannel final : public CommandChannel, public std::enable_shared_from_this<SlotChannel>
{
public:
    SlotChannel(std::shared_ptr<Cluster> cluster, HashSlot slot, Migration migration);

    void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) override;
    [[nodiscard]] bool ready() override;
    [[nodiscard]] bool connected() override;
    [[nodiscard]] store::ClaimWindow* claims() override;
    void await_server(Deadline const& until, std::function<void()> task) override;
    [[nodiscard]] std::string last_error() const override;
    [[nodiscard]] ServerInfo const& server() const noexcept override;
    [[nodiscard]] std::uint64_t generation() const noexcept override;
    [[nodiscard]] Refusals& refusals() noexcept override;
    void note_ttl(std::chrono::milliseconds ttl) noexcept override;
    void reconnect() override { cluster_->topology().refresh(); }
    void invalidate(std::string_view what) override;
    [[nodiscard]] std::string place() const override;

    /** True if the node of the slot has lost its connection. Calling this starts the search for another. */
    [[nodiscard]] bool is_lost();

private:
    class Request;

    [[nodiscard]] ClusterNode* known_node() const noexcept;

    std::shared_ptr<Cluster> cluster_;
    HashSlot slot_;
    Migration migration_;
    /// the node that answered last
    ServerAddress answered_by_;
    /// while it is not known which node serves the slot
    Refusals of_unknown_node_;
    /// a task of `await_server` runs
    bool awaited_map_ = false;
    /// the longest recorded ttl, for later nodes of the slot
    std::chrono::milliseconds longest_ttl_{};
};

/** Parts for operations on the keys of one hash slot, independent of the node that serves it. */
struct SlotContext {
    std::shared_ptr<SlotChannel> channel;
    /// for commands that create no keys: follows a migrating slot
    ServerPtr follows;
    /// for commands that create keys or use several: waits for the end of a migration
    ServerPtr waits;
    /// as `waits`, but fails at once during a migration
    ServerPtr fails_fast;
    /// for locks, and pools with all keys in the slot: by `waits`
    std::shared_ptr<Claims> claims;
    /// for single keys of spread ranges: by `fails_fast`
    std::shared_ptr<Claims> multi_slot_claims;
    std::shared_ptr<Releases> releases;
    std::shared_ptr<Places> places;
    /// a claim in a spread range was refused here: other slots are preferred until then
    Instant avoid_until = Instant::min();
    Instant used{};
};

struct FreedKeys;

/** The hash slots in use. Shared by the pending operations. */
class SlotContexts
{
public:
    /// Claims of spread ranges that search for a free key at once: each search asks all nodes about many keys.
    static constexpr std::size_t most_searches = 16;

    SlotContexts(std::shared_ptr<Cluster> cluster, bool delay_after_failover, LockLayout layout)
        : cluster_(std::move(cluster))
        , delays_after_failover_(delay_after_failover)
        , layout_(layout)
        , searches_(std::make_shared<store::ClaimWindow>(cluster_->runtime(), most_searches))
    {
    }

    [[nodiscard]] Cluster& cluster() const noexcept { return *cluster_; }
    [[nodiscard]] Runtime& runtime() const noexcept { return *cluster_->runtime(); }

    /** Valid until the next call. */
    [[nodiscard]] SlotContext& at(HashSlot slot);
    [[nodiscard]] SlotContext& of(KeyRange const& range, std::uint32_t index)
    {
        return at(hash_slot(range.key(index)));
    }

    /** The claims of spread ranges that search for a free key. */
    [[nodiscard]] store::ClaimWindow& searches() noexcept { return *searches_; }

    /** Cached state of spread ranges. */
    [[nodiscard]] RangeCache& multi_slot_ranges() noexcept { return multi_slot_ranges_; }

    /** Keys freed in this turn, see `announce`. The posted task owns them, because the handlers may own this object
     *  and a destroyed context runs no task. */
    [[nodiscard]] std::weak_ptr<FreedKeys>& freed_keys() noexcept { return freed_keys_; }

private:
    void forget_unused();

    std::shared_ptr<Cluster> cluster_;
    bool delays_after_failover_;
    LockLayout layout_;
    store::ClaimWindowPtr searches_;
    std::map<HashSlot, SlotContext> slots_;
    RangeCache multi_slot_ranges_;
    std::weak_ptr<FreedKeys> freed_keys_;
};

} // namespace tenure::redis
