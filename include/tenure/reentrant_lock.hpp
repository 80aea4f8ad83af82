// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/holder.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>
#include <tenure/reentrant_lease.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tenure
{

/** Mutual exclusion on one key among all holders of all processes that use the same store; a `Holder` that has it may
 * acquire it again.
 *
 *  The store sees one claim and one release. The process counts the ReentrantLeases for each store object, key and
 * holder. A further acquisition costs no I/O and gets the same lease with the same fencing token. See `Holder` for an
 * example. Distinct objects for one key are the same lock. The lock and a plain `Lock` of that key exclude each other.
 *
 *  - Acquisitions of one holder during a claim share the claim and complete together. An acquisition whose wait ends
 *    before the claim's does sends its own claim.
 *  - During the release of the last ReentrantLease, an acquisition waits for the answer and then claims.
 *  - After a loss, acquisitions of that holder end with errc::lease_lost until all ReentrantLeases of the lost lease
 * are gone: a nested call must not get a new lease while an outer call relies on the old one.
 *  - A further acquisition must use the ttl of the lease, else it ends with std::errc::invalid_argument.
 *  - Of the two sides of a ReadWriteLock a holder may read while it reads, also if a writer waits, and read or write
 *    while it writes; it keeps the writer's token. To write while it reads, or asks to read, ends with
 *    errc::would_deadlock. A lock of another kind on the same key, such as a plain one beside a fair one, ends so, too.
 *  - With Order::checked an acquisition ends with errc::out_of_order if the holder holds a key of this store above this
 *    one, and with errc::would_deadlock if it holds this key by a `Lock`. The log and `Store::diagnostics()` have the
 *    details.
 *  - Cancellation stops only this wait. A shared claim ends with its last waiter.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and ReentrantLeases are alive; both
 * continue.
 */
class TENURE_API ReentrantLock : public Acquirable<ReentrantLock, ReentrantLease, Holder>
{
public:
    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    ReentrantLock(Store store, LockConfig config);
    /** A lock that exists, such as a side of a `ReadWriteLock`. Both sides with one holder share its ReentrantLeases:
     *
     *  @code
     *  tenure::ReentrantLock const reading(prices.read_lock());
     *  tenure::ReentrantLock const writing(prices.write_lock());
     *  @endcode
     */
    explicit ReentrantLock(Lock lock) noexcept;

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return lock_.get_executor(); }
    /** `LockConfig::key`. */
    [[nodiscard]] std::string const& key() const noexcept { return lock_.key(); }
    /** The key, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr range() const noexcept { return lock_.range(); }
    /** The ttl of leases that do not ask for another. */
    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept { return lock_.ttl(); }

    /** This lock, as one holder acquires it. */
    class ForHolder;
    /** For functions that know no holder: `async_run(lock.for_holder(holder), work)`. Its operations are those of the
     * lock without their first argument. */
    [[nodiscard]] ForHolder for_holder(Holder const& holder) const;

private:
    friend Acquirable<ReentrantLock, ReentrantLease, Holder>;

    [[nodiscard]] ForHolder state_for(Holder const& holder) const;
    [[nodiscard]] static executor_type executor_of(ForHolder const& part) noexcept;
    template <class Result>
    static void start(
        ForHolder const& part, AcquireOptions const& options,
        boost::asio::any_completion_handler<void(error_code, Result)> handler);

    Lock lock_;
};

/** A `ReentrantLock` as one holder acquires it; made by `ReentrantLock::for_holder`. */
class ReentrantLock::ForHolder : public Acquirable<ForHolder, ReentrantLease>
{
public:
    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return lock_.get_executor(); }

private:
    friend Acquirable<ForHolder, ReentrantLease>;
    friend ReentrantLock;

    ForHolder(Lock lock, Holder const& holder)
        : lock_(std::move(lock))
        , holder_(holder)
    {
    }

    [[nodiscard]] ForHolder const& state_for() const noexcept { return *this; }
    [[nodiscard]] static executor_type executor_of(ForHolder const& part) noexcept { return part.get_executor(); }
    template <class Result>
    static void start(
        ForHolder const& part, AcquireOptions const& options,
        boost::asio::any_completion_handler<void(error_code, Result)> handler)
    {
        ReentrantLock::start<Result>(part, options, std::move(handler));
    }

    Lock lock_;
    Holder holder_;
};

inline ReentrantLock::ForHolder ReentrantLock::for_holder(Holder const& holder) const
{
    return {lock_, holder};
}

inline ReentrantLock::ForHolder ReentrantLock::state_for(Holder const& holder) const
{
    return {lock_, holder};
}

inline ReentrantLock::executor_type ReentrantLock::executor_of(ForHolder const& part) noexcept
{
    return part.get_executor();
}

} // namespace tenure
