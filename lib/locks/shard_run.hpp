// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "held_set.hpp"
#include "view_reader.hpp"

#include "engine/completion.hpp"
#include "engine/machines/shard_machine.hpp"
#include "runtime/alarm.hpp"
#include "runtime/names.hpp"

#include <tenure/shard_group.hpp>
#include <tenure/slot_pool.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::locks
{

/** What the copies of a group share. */
struct GroupState {
    GroupState(Store const& store, ShardGroupConfig checked);

    ShardGroupConfig const config;
    SlotPool const members;
    SlotPool const shards;
    std::shared_ptr<engine::Handle> const store;
    std::atomic<bool> runs{false};

    std::mutex mutex;
    // -- under the mutex --
    std::vector<std::uint32_t> owned;
    std::vector<std::uint32_t> live;
    ShardStatistics statistics;
};

/** A shard that is held, and its work. Shared by the run and the work. */
struct HeldShard {
    using Strand = asio::strand<asio::any_io_executor>;

    HeldShard(Slot slot, asio::any_io_executor const& executor);
    [[nodiscard]] Slot& slot() noexcept { return shard.slot_; }

    std::shared_ptr<JoinedToken> token;
    Shard shard;
    /// of the work
    Strand strand;
    // -- on that strand --
    asio::cancellation_signal cancel;
    bool ended = false;
    // -- on the strand of the run --
    /// its work was cancelled
    bool stopped = false;
    /// its work has returned, and it is still held
    bool finished = false;
    bool lost = false;
};

/** One member of a group, from its begin to its end. Everything but `start` runs on its strand. */
class ShardRun : public std::enable_shared_from_this<ShardRun>
{
public:
    using Handler = engine::Completion<void(std::exception_ptr)>;

    ShardRun(
        std::shared_ptr<GroupState> group, asio::any_io_executor const& executor, detail::ShardWork work,
        Handler handler);

    /** Call it on the thread of the initiating call. */
    static void start(std::shared_ptr<ShardRun> const& self);

private:
    using Machine = engine::ShardMachine;
    using HeldPtr = std::shared_ptr<HeldShard>;
    /** A pending acquisition. */
    struct Claim {
        asio::cancellation_signal cancel;
        bool cancelled = false;
    };
    using Claims = std::list<std::shared_ptr<Claim>>;
    using Acquired = void (ShardRun::*)(bool cancelled, error_code error, Slot slot);

    void perform(Machine::Actions const& actions);
    void perform(Machine::Action action);
    void claim(SlotPool const& pool, Claims& claims, Acquired acquired);
    void cancel(Claims& claims, std::size_t count);
    void member_acquired(bool cancelled, error_code error, Slot slot);
    void shard_acquired(bool cancelled, error_code error, Slot slot);
    void membership_lost();
    void begin(Machine::Number number);
    void emit(HeldPtr const& held, asio::cancellation_type type);
    void lost(HeldPtr const& held);
    void work_ended(HeldPtr const& held, std::exception_ptr const& failure);
    /** Releases a slot of which nothing is used afterwards. */
    void release(Slot& slot);
    /** Waits for another set of members. */
    void follow();
    void viewed(error_code error, ViewSnapshot const& view);
    void leave(bool at_once);
    void fail(std::exception_ptr failure);
    void tick();
    void complete_if_over();
    void tell(ShardEvent::Kind kind, std::optional<Machine::Number> shard = std::nullopt);
    void log(LogLevel level, std::string text) const;
    /** A handler that calls `function(self, results...)` on the strand. */
    template <class Function>
    [[nodiscard]] auto on_strand(Function function);

    std::shared_ptr<GroupState> group_;
    std::shared_ptr<Runtime> runtime_;
    /// of the user's handler
    asio::any_io_executor executor_;
    asio::strand<asio::any_io_executor> strand_;
    detail::ShardWork work_;
    /// until it is called
    std::optional<Handler> handler_;
    Machine machine_;
    Alarm alarm_;
    std::shared_ptr<ViewHandle> view_;
    asio::cancellation_signal stop_following_;
    std::uint64_t seen_ = 0;

    /// pending acquisitions of members and shards
    Claims member_claims_;
    Claims shard_claims_;
    /// the numbers of this member, which it may not have all of
    std::vector<Slot> numbers_;
    /// just granted
    std::optional<Slot> granted_;
    std::map<Machine::Number, HeldPtr> held_;
    /// unanswered releases
    std::size_t releases_ = 0;
    bool ended_ = false;
    std::exception_ptr failure_;
};

} // namespace tenure::locks
