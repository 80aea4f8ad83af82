// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/handler_executor.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/detail/work.hpp>
#include <tenure/key_range.hpp>
#include <tenure/options.hpp>
#include <tenure/slot.hpp>
#include <tenure/store.hpp>
#include <tenure/task_group.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure
{

namespace locks
{
struct GroupState;
struct HeldShard;
} // namespace locks

/** What happens to a member of a shard group, for metrics and logs (`ShardGroupConfig::on_event`). */
struct ShardEvent {
    /** What happened. */
    enum class Kind : std::uint8_t {
        /// the member has joined the group: its numbers are held
        joined,
        /// the membership was lost, and the member joins again; it keeps its shards for a ttl
        membership_lost,
        /// the member leaves the group, because the run ends, or because its claims have failed for a ttl
        left,
        /// a shard is owned, and its work begins
        acquired,
        /// the work of a shard is cancelled (total), because another member is to own the shard, or this one leaves
        giving_up,
        /// the work of a shard has gone on for the whole drain, and is cancelled (terminal)
        terminated,
        /// the work has ignored that for a second: the shard is not renewed, and its key expires
        abandoned,
        /// the work has returned by itself; the shard stays held without work
        finished,
        /// a shard is given back
        released,
        /// the lease of a shard was lost
        lost
    };

    /// the kind of event
    Kind kind = Kind::joined;
    /// of which shard; unset for an event of the membership
    std::optional<std::uint32_t> shard;
};
/** The name of the enumerator. */
[[nodiscard]] TENURE_API std::string_view to_string(ShardEvent::Kind kind) noexcept;

/** A group of members that share numbered shards. Equal in all members, except for `weight`, `note` and `on_event`. */
struct ShardGroupConfig {
    /// begin of the keys: `NAME:member:0` and `NAME:shard:0` and so on; as `SlotPoolConfig::prefix`, up to 1,000 bytes
    std::string name;
    /// how many shards; 1 to 65,536. Required: the constructor refuses 0. To change it, stop all members
    std::uint32_t shards = 0;
    /// how many members there may be, each counted with its weight; 1 to 4,096
    std::uint32_t max_members = 256;
    /// of members and shards, as `SlotPoolConfig::ttl`. A member reads the others every fifth of it, at least every 100
    /// ms and at most every hour
    std::chrono::milliseconds ttl{10'000};
    /// the part of this member: with 2 it owns twice as many shards as one with 1. It holds as many numbers; 1 to 16
    std::uint32_t weight = 1;
    /// how long work may go on after its shard is given up; 0 or more
    std::chrono::milliseconds drain{0};
    /// how long others leave the shards of a member that has vanished to its successor. Longer than a restart: then a
    /// rolling restart moves nothing between members. A dead or gone member's shards wait that much longer; 0 to 24 h
    std::chrono::milliseconds rebalance_pause{0};
    /// how the leases are held, as `SlotPoolConfig::lease`
    LeaseOptions lease = {};
    /// as `SlotPoolConfig::note`
    std::string note = {};
    /// called for each event, on a strand of the run: it must neither block nor throw. Empty: none
    std::function<void(ShardEvent const&)> on_event = {};
};

/** A shard that this member owns, for its work. */
class TENURE_API Shard
{
public:
    Shard(Shard const&) = delete;
    Shard& operator=(Shard const&) = delete;
    ~Shard() = default;

    /** The number: in [0, `ShardGroupConfig::shards`). */
    [[nodiscard]] std::uint32_t number() const { return slot_.id(); }
    /** Cancelled when the work has to end: with the reason `rebalanced` when the shard is given up, which is then still
     * held, else as the token of a `Lease`. */
    [[nodiscard]] CancellationToken const& token() const noexcept { return token_; }
    /** As `Lease::valid`; also true while the work of a shard that is given up ends. */
    [[nodiscard]] bool valid() const noexcept { return slot_.valid(); }
    /** As `Lease::valid_until`. */
    [[nodiscard]] Instant valid_until() const noexcept { return slot_.valid_until(); }
    /** As `Lease::stop_at`. */
    [[nodiscard]] Instant stop_at() const noexcept { return slot_.stop_at(); }
    /** As `Lease::fencing_token`: greater for each later owner of this shard. */
    [[nodiscard]] std::uint64_t fencing_token() const { return slot_.fencing_token(); }
    /** As `Lease::has_fencing_token`. */
    [[nodiscard]] bool has_fencing_token() const noexcept { return slot_.has_fencing_token(); }
    /** Name of the key in the store. */
    [[nodiscard]] std::string const& key() const noexcept { return slot_.key(); }

private:
    friend struct locks::HeldShard;
    Shard(Slot slot, CancellationToken token) noexcept
        : slot_(std::move(slot))
        , token_(std::move(token))
    {
    }

    Slot slot_;
    CancellationToken token_;
};

namespace detail
{
/// the work of one shard, erased
using ShardWork = std::function<boost::asio::awaitable<void>(Shard&, TaskGroup&)>;
struct ShardRuns;
} // namespace detail

/** Numbered shards, each owned by one member of a group, shared out by the members themselves and moved as little as
 * possible when members come and go.
 *
 *  ```
 *  tenure::ShardGroup orders(store, {.name = "orders", .shards = 64, .drain = 5s});
 *  co_await async_run(orders, consume);        // asio::awaitable<void> consume(tenure::Shard&, tenure::TaskGroup&)
 *  ```
 *  A member holds a number of a pool of members, and as many shards as its share: N shards and M members make shares of
 *  N / M, rounded up for the lowest numbers. It claims any free shards, and gives up the newest ones above its share.
 *  There is no leader, and no member reads the shards.
 *
 *  - **One owner.** Each shard is a lease with the guarantees of any other lease. Pass its fencing token to what the
 *    work writes to. No process runs two works of one shard.
 *  - **Few moves.** A join moves at most ceil(N / (M + 1)) shards, a leave those of the member that leaves. Nothing
 *    moves without a change.
 *  - **Times**, with refresh = ttl / 5: after a join two refreshes, or refresh and the longest drain if that is longer,
 *    and 1 s; after a leave refresh, the drain and 1 s; after a death or a long stop ttl, refresh and 1 s. The last two
 *    are longer by `rebalance_pause`.
 *  - **Cost:** each member inspects the keys of the members every refresh and renews its leases, which leave in
 *    batches. At rest no claim waits.
 *
 *  Copies are the same group. One run at a time: a second one ends with `asio::error::already_started`.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 */
class TENURE_API ShardGroup
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    ShardGroup(Store store, ShardGroupConfig config);

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept;

    /** `ShardGroupConfig::name`. */
    [[nodiscard]] std::string const& name() const noexcept;
    /** The keys of the members, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr member_range() const noexcept;
    /** The keys of the shards, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr shard_range() const noexcept;

    /** The shards that this member owns, sorted; none while it does not run. A shard that is being given up is not
     * among them. */
    [[nodiscard]] std::vector<std::uint32_t> owned() const;
    /** The numbers of all members, as the store has shown them last; none while this one does not run. */
    [[nodiscard]] std::vector<std::uint32_t> members() const;

private:
    friend struct detail::ShardRuns;
    std::shared_ptr<locks::GroupState> state_;
};

namespace detail
{

/** Starts `async_run` of a group. */
struct TENURE_API ShardRuns {
    /** @param executor  the handler's, for the works */
    static void start(
        ShardGroup const& group, boost::asio::any_io_executor const& executor, ShardWork work,
        boost::asio::any_completion_handler<void(std::exception_ptr)> handler);
};

inline constexpr auto executor_of_group = [](ShardGroup const& group) { return group.get_executor(); };
inline constexpr auto start_group = [](ShardGroup const& group, ShardWork work, auto handler) {
    auto const executor = handler_executor(handler, group.get_executor());
    ShardRuns::start(group, executor, std::move(work), std::move(handler));
};

template <class Work>
[[nodiscard]] ShardWork shard_work(Work&& work)
{
    auto const kept = std::make_shared<std::decay_t<Work>>(std::forward<Work>(work));
    return [kept](Shard& shard, [[maybe_unused]] TaskGroup& tasks) -> boost::asio::awaitable<void> {
        if constexpr (takes_tasks<Work, Shard>)
            return as_awaitable(std::invoke(*kept, shard, tasks));
        else
            return as_awaitable(std::invoke(*kept, shard));
    };
}

} // namespace detail

/** Joins the group, and calls `work(shard)` for each shard that this member owns, from the moment it is owned until it
 *  is given up, lost or finished.
 *
 *  Each call runs on a strand of its own over the handler's executor. The references are valid until the work and its
 *  tasks have ended.
 *
 *  - **Given up**: the shard's token is cancelled with the reason `rebalanced`, and the work gets `total`, after
 * `drain` `terminal`. The shard is renewed until the work has ended, then released. Work that ignores `terminal` for a
 * second is no longer renewed: its key expires, and its shard does not begin here again before the work has ended.
 *  - **Lost**: as under `async_with_lease`.
 *  - **Finished**: work that returns uncancelled. Its shard stays held without work until it is given up.
 *  - **Failed**: an exception of a work ends the run, and is its result.
 *  - When the run ends, the member leaves the group first, and gives up all shards as above.
 *  - A member whose claims fail for a ttl leaves the group, and joins again after 1 to 16 ttl.
 *
 *  @param group  copied
 *  @param work  `asio::awaitable<void>(Shard&)`, also with a `TaskGroup&` after it, or a function that returns another
 * deferred operation; called once per shard and ownership. See `async_with_lease` about lambdas and g++ 12
 *  @par Completion signature  void(std::exception_ptr)
 *  @par Errors  asio::error::operation_aborted: cancelled by the caller; asio::error::already_started: the group runs
 * already; `tenure::error` with the errors of `async_acquire` while the member joins; errc::closed; errc::forked; the
 * exceptions of works
 *  @par Per-operation cancellation  total: leaves, works have the drain to end; terminal, partial: leaves, works get
 * `terminal` at once, also after a `total` before
 */
template <class Work, class CompletionToken = boost::asio::deferred_t>
[[nodiscard]] auto async_run(ShardGroup const& group, Work&& work, CompletionToken&& completion = {})
{
    constexpr bool is_work = detail::is_work_without_result<Work, Shard>();
    static_assert(
        is_work,
        "async_run: the work of a ShardGroup must be callable with a Shard&, or a Shard& and a TaskGroup&, and "
        "return boost::asio::awaitable<void>, as a coroutine does, or another deferred operation without a "
        "result");
    if constexpr (is_work)
        return detail::initiate<void(std::exception_ptr), detail::start_group, detail::executor_of_group>(
            group, std::forward<CompletionToken>(completion), detail::shard_work(std::forward<Work>(work)));
    else
        return detail::initiate_nothing<void(std::exception_ptr)>();
}

} // namespace tenure
