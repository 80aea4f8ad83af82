// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tenure
{

namespace locks
{
class OrderedLocks;
}

/** Several keys of one store, and how their leases are held. */
struct MultiLockConfig {
    /// 1 to 1,024 keys, each as `LockConfig::key`; duplicates count once
    std::vector<std::string> keys;
    /// how long the store keeps a claim without renewal; 100 ms (some stores: more) to 24 h
    std::chrono::milliseconds ttl{10'000};
    /// options of each key's lease. `max_hold`, and with `Renewal::manual` also the ttl, counts from that key's own
    /// grant. That grant comes before the grant of the set if the set waits for other keys
    LeaseOptions lease = {};
    /// a note for people, as `LockConfig::note`
    std::string note = {};
};

/** Several locks that are acquired together: all of them, or none.
 *
 *  MultiLocks never deadlock with each other, whatever keys they share and in whatever order the keys were named. All
 *  processes use one order: first `StoreOptions::order_name` for locks of several stores, then the bytewise order of
 *  the keys. A MultiLock waits for a key only while it holds no later key of this order. Locks nested by hand are not
 *  covered: acquire them in the same order, or with a `wait`.
 *
 *  Without contention all keys of a store are claimed in one write. While a key is contended, later keys may be taken
 *  for a moment and released.
 *
 *  On success every lease of the set is valid; on error nothing is held, and a later grant is released. The error is
 *  that of the first key that failed. `AcquireOptions::wait` limits the whole operation, `ttl` applies to each lease,
 *  and `prefer` is refused. Keys that are held while the operation waits for others are renewed, and acquired again
 *  after a loss.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and leases are held; both continue.
 */
class TENURE_API MultiLock : public Acquirable<MultiLock, LeaseSet>
{
public:
    /// the largest number of keys
    static constexpr std::size_t most_locks = 1024;

    /** Keys of one store.
     *  @throws std::invalid_argument naming field, value and rule, before any I/O */
    MultiLock(Store store, MultiLockConfig config);
    /** Locks of one or several stores; for several, each needs a `StoreOptions::order_name` of its own. All these
     * stores share one execution context.
     *  @throws std::invalid_argument likewise */
    explicit MultiLock(std::vector<Lock> locks);

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(locks_); }
    /** How many keys. */
    [[nodiscard]] std::size_t size() const noexcept;

private:
    using LocksPtr = std::shared_ptr<locks::OrderedLocks const>;

    friend Acquirable<MultiLock, LeaseSet>;

    [[nodiscard]] LocksPtr const& state_for() const noexcept { return locks_; }
    [[nodiscard]] static boost::asio::any_io_executor const& executor_of(LocksPtr const& locks) noexcept;
    template <class Result>
    static void start(
        LocksPtr const& locks, AcquireOptions const& options,
        boost::asio::any_completion_handler<void(error_code, Result)> handler);

    LocksPtr locks_;
};

} // namespace tenure
