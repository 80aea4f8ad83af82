// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/lease.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace tenure
{

namespace locks
{
class HolderState;
}

/** Whether a holder checks the order in which it acquires keys. */
enum class Order {
    /// no check
    unchecked,
    /// within one store, bytewise: a key below one that the holder holds is refused, because two holders with opposite
    /// orders may wait for each other
    checked
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(Order order) noexcept;

/** How a holder acquires. */
struct HolderOptions {
    /// whether the holder refuses keys that are out of order
    Order order = Order::unchecked;
};

/** The identity of a holder of a `ReentrantLock`: an object, because coroutines cannot be told apart by their thread.
 * Cheap to copy; all copies are the same holder. Pass it down the calls that belong together:
 *
 *  @code
 *  asio::awaitable<void> ship(tenure::Holder holder, tenure::ReentrantLock stock)
 *  {
 *      auto hold = co_await stock.async_acquire(holder);    // the store is asked
 *      co_await count(holder, stock);
 *  }                                                        // releases the key
 *  asio::awaitable<void> count(tenure::Holder holder, tenure::ReentrantLock stock)
 *  {
 *      auto again = co_await stock.async_acquire(holder);   // at once: the same lease, the same fencing token
 *      write(again.fencing_token());
 *  }                                                        // counts down
 *  ...
 *  co_await ship(tenure::Holder(), stock);
 *  @endcode
 *
 *  A holder also acquires a `Lock`, which is not re-entrant. With `Order::checked` it first checks the keys that it
 *  holds by a `ReentrantLock`, or by a Lock that it acquired here. The check is local:
 *
 *  @code
 *  tenure::Holder const holder({.order = tenure::Order::checked});
 *  auto b = co_await holder.async_acquire(lock_b);
 *  auto a = co_await holder.async_acquire(lock_a);    // throws errc::out_of_order: "a" is below "b"
 *  @endcode
 *
 *  Its further errors are errc::would_deadlock: the holder holds this key, so the call would wait for itself; and
 *  errc::lease_lost: the holder has ReentrantLeases of a lost lease on this key. `Store::diagnostics()` names both
 * keys.
 *
 *  A holder belongs to the process that made it: after a fork its acquisitions end with errc::forked.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while its acquisitions are in progress and its ReentrantLeases are alive;
 * both continue.
 */
class TENURE_API Holder : public Acquirable<Holder, Lease, Lock>
{
public:
    /** A new identity. */
    explicit Holder(HolderOptions options = {});
    // no move operations: a moved-from holder would have no identity
    /** The same holder. */
    Holder(Holder const&) noexcept;
    /** The same holder. */
    Holder& operator=(Holder const&) noexcept;
    ~Holder();

    /** Whether both are the same holder. */
    [[nodiscard]] friend bool operator==(Holder const& left, Holder const& right) noexcept
    {
        return left.state_ == right.state_;
    }

private:
    friend class ReentrantLock;
    using StatePtr = std::shared_ptr<locks::HolderState>;

    friend Acquirable<Holder, Lease, Lock>;
    /** One of its acquisitions of a plain lock. */
    struct OfLock {
        StatePtr state;
        Lock lock;
    };

    [[nodiscard]] OfLock state_for(Lock const& lock) const { return {state_, lock}; }
    [[nodiscard]] static boost::asio::any_io_executor executor_of(OfLock const& part) noexcept
    {
        return part.lock.get_executor();
    }
    template <class Result>
    static void start(
        OfLock const& part, AcquireOptions const& options,
        boost::asio::any_completion_handler<void(error_code, Result)> handler);

    StatePtr state_;
};

} // namespace tenure
