// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tenure
{

namespace locks
{
class ViewHandle;
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

/** Leadership among programs: one leads, the others know which and where.
 *
 *  ```
 *  tenure::Election election(store, {.name = "scheduler", .contact = "10.0.0.7:8080"});
 *  co_await election.async_run(lead);                    // campaigns, leads, campaigns again
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
class TENURE_API Election : private Acquirable<Lease>
{
public:
    /// the type of `get_executor()`
    using executor_type = asio::any_io_executor;
    /// the lease of a leader
    using lease_type = Lease;

    /** Starts to follow the leader. @throws std::invalid_argument naming field, value and rule, before any I/O */
    Election(Store store, ElectionConfig config);

    using Acquirable<Lease>::get_executor;
    /** The key, for `Store::async_inspect`. */
    using Acquirable<Lease>::range;
    using Acquirable<Lease>::ttl;
    using Acquirable<Lease>::tolerated_outage;
    /** `ElectionConfig::name`. */
    [[nodiscard]] std::string const& name() const noexcept;

    /** Waits until this program leads. Release the lease to resign.
     *
     *  @param options  as `Lock::async_acquire`, but wait: default `forever`
     *  @par Completion signature  void(error_code, Lease)
     *  @par Errors  as `Lock::async_acquire`
     *  @par Per-operation cancellation  as `Lock::async_acquire`
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_campaign(AcquireOptions options = {}, CompletionToken&& completion = {}) const
    {
        options.wait = options.wait.value_or(forever);
        return this->async_acquire(options, std::forward<CompletionToken>(completion));
    }
    /** Overload with default options: it waits `forever`. */
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_campaign(CompletionToken&& completion) const
    {
        return async_campaign(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }
    /** Overload with only a wait time: `co_await election.async_campaign(5s)`. */
    template <class Rep, class Period, class CompletionToken = asio::deferred_t>
    auto async_campaign(std::chrono::duration<Rep, Period> wait, CompletionToken&& completion = {}) const
    {
        return async_campaign(AcquireOptions{detail::wait_of(wait)}, std::forward<CompletionToken>(completion));
    }

    /** Leads around the work, as `Lock::async_run`: campaigns, calls `work(lease)`, and when the lease is lost, cancels
     * the work, waits for its end and campaigns again. This program resigns only after the work has ended. */
    using Acquirable<Lease>::async_run;

    /** The leader that is known now, without I/O. After the store was closed it is the last one, and in a fork of the
     * process that made the election `unknown`. */
    [[nodiscard]] Leader leader() const;

    /** Waits for a change of leader or state since a version that was seen.
     *
     *  @param seen  `Leader::version`; 0 waits for the first answer
     *  @par Completion signature  void(error_code, Leader)
     *  @par Errors  as `View::async_changed`
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_next_leader(std::uint64_t seen, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, Leader)>(
            Initiate{view_, get_executor()}, completion, seen);
    }

private:
    using ViewPtr = std::shared_ptr<locks::ViewHandle>;
    struct Initiate {
        ViewPtr view;
        asio::any_io_executor executor;
        using executor_type = asio::any_io_executor;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor; }
        template <class Handler>
        void operator()(Handler&& handler, std::uint64_t seen) const
        {
            start(view, seen, std::forward<Handler>(handler));
        }
    };
    static void
    start(ViewPtr const& view, std::uint64_t seen, asio::any_completion_handler<void(error_code, Leader)> handler);

    ViewPtr view_;
};

} // namespace tenure
