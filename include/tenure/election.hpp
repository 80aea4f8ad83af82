// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/acquirable_keys.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure
{

namespace locks
{
class ViewHandle;
}

namespace detail
{
template <class, class, class>
class RunHeld;
}

/** The configuration of an election: its name, and how this program campaigns. */
struct ElectionConfig {
    /// name of the key in the store, as `LockConfig::key`; the same in all programs
    std::string name;
    /// where followers reach this program while it leads, for example `10.0.0.7:8080`. Printable ASCII, at most 128
    /// bytes; not secret. Empty: none
    std::string contact = {};
    /// how long the store keeps a leader that does not renew, as `LockConfig::ttl`
    std::chrono::milliseconds ttl{10'000};
    /// how the leadership is held
    LeaseOptions lease = {};
    /// time between two reads of the leader, as `ViewOptions::refresh`
    std::chrono::milliseconds refresh{1'000};
    /// true: candidates lead in the order in which they began to campaign, as `LockConfig::fair`
    bool fair = false;
};

/** The leader, as far as a program knows: a plain value. Another program may lead by the time it is read. */
struct Leader {
    /// the knowledge of the leader
    enum class State {
        /// the store has never answered
        unknown,
        /// the store reports no leader: the key is free, was evicted or detached, or is not a lease
        none,
        /// `name` leads
        present,
        /// `name` is the last known leader, or empty if there was none. The store has not confirmed it for 3 times
        /// `refresh` (at least 3 s), or for 1 s after the leader's time ran out
        stale
    };
    /// says which of the other fields mean something
    State state = State::unknown;
    /// `StoreOptions::worker_name` of the leader. Also empty if the client that holds the key does not write its name:
    /// `state` is `present` then
    std::string name;
    /// `ElectionConfig::contact` of the leader, as another program wrote it: check it before you connect
    std::string contact;
    /// of the leader, if the store reports it; unset on Redis
    std::optional<std::uint64_t> fencing_token;
    /// age of the store's answer, counted from before the request was written; unset while unknown
    std::optional<std::chrono::nanoseconds> age;
    /// grows with each change of leader or state
    std::uint64_t version = 0;
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(Leader::State state) noexcept;

/** Leadership among programs: one leads, the others know which and where.
 *
 *  ```
 *  tenure::Election election(store, {.name = "scheduler", .contact = "10.0.0.7:8080"});
 *  co_await async_run(election, lead);                    // campaigns, leads, campaigns again
 *  ```
 *  and, in the same or another program, to find the leader:
 *  ```
 *  auto leader = election.leader();
 *  while (leader.state != tenure::Leader::State::present)
 *      leader = co_await election.async_next_leader(leader.version);
 *  ```
 *  The leader holds the lock of the key `name`. Its lease has the guarantees of any other lease, and its fencing token
 *  makes a paused leader harmless. Followers have the guarantees of a `View`: they see the past, changes in order, and
 * the newest one. When a leader resigns they see `none`, unless its successor is faster than the read. They see a new
 * leader within `refresh`.
 *
 *  - **Cost:** each program with an Election inspects one key every `refresh`, also while it leads. The reads end as
 *    those of a `View`.
 *  - A plain `Lock` of the same key campaigns as well. Its `LockConfig::note` is the contact.
 *
 *  Copies are the same election.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 */
class TENURE_API Election : private AcquirableKeys, private Acquirable<Election, Lease>
{
public:
    using Acquirable::executor_type;
    using Acquirable::lease_type;

    /** Starts to follow the leader. @throws std::invalid_argument naming field, value and rule, before any I/O */
    Election(Store store, ElectionConfig config);

    using AcquirableKeys::get_executor;
    /** The key, for `Store::async_inspect`. */
    using AcquirableKeys::range;
    using AcquirableKeys::tolerated_outage;
    using AcquirableKeys::ttl;
    /** `ElectionConfig::name`. */
    [[nodiscard]] std::string const& name() const noexcept;

    /** Waits until this program leads. Release the lease to resign.
     *
     *  @param options  as `Lock::async_acquire`, also only a wait, whose default is `forever`
     *  @par Completion signature  void(error_code, Lease)
     *  @par Errors  as `Lock::async_acquire`
     *  @par Per-operation cancellation  as `Lock::async_acquire`
     */
    template <class Options = AcquireOptions, class CompletionToken = boost::asio::deferred_t>
        requires detail::AcquireArgument<Options>
    [[nodiscard]] auto async_campaign(Options options = {}, CompletionToken&& completion = {}) const
    {
        return async_acquire(
            detail::with_default_wait(detail::acquire_options(options), forever),
            std::forward<CompletionToken>(completion));
    }
    /** Overload with default options: it waits `forever`. */
    template <class CompletionToken>
        requires(!detail::AcquireArgument<CompletionToken>)
    [[nodiscard]] auto async_campaign(CompletionToken&& completion) const
    {
        return async_campaign(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

    /** The leader that is known now, without I/O. After the store was closed it is the last one, and in a fork of the
     * process that made the election `unknown`. */
    [[nodiscard]] Leader leader() const;

    /** Waits for a change of leader or state since a version that was seen.
     *
     *  @param seen  `Leader::version`; 0 waits for the first answer
     *  @par Completion signature  void(error_code, Leader)
     *  @par Errors  as `View::async_changed`
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_next_leader(std::uint64_t seen, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code, Leader), &start_next_leader, &executor_of_view>(
            view_, std::forward<CompletionToken>(completion), seen);
    }

private:
    friend Acquirable<Election, Lease>;
    template <class, class, class>
    friend class detail::RunHeld;

    using ViewPtr = std::shared_ptr<locks::ViewHandle>;
    [[nodiscard]] static boost::asio::any_io_executor const& executor_of_view(ViewPtr const& view) noexcept;
    static void start_next_leader(
        ViewPtr const& view, std::uint64_t seen, boost::asio::any_completion_handler<void(error_code, Leader)> handler);

    ViewPtr view_;
};

} // namespace tenure
