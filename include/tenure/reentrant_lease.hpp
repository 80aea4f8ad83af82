// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/lease.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tenure
{

namespace locks
{
class HeldKey;
struct Entry;
} // namespace locks

class ReentrantLease;
template <>
struct detail::LeaveKey<ReentrantLease> {
    TENURE_API static void of(ReentrantLease& lease) noexcept;
};

/** One acquisition of a `ReentrantLock`. Move-only.
 *
 *  All ReentrantLeases that one `Holder` has on a key share one lease: its fencing token, its validity and its
 * cancellation token. A loss therefore reaches all of them. The key is released when the last of them ends; the order
 * in which they end does not matter. Destroying a ReentrantLease counts down like `async_release`. All queries are
 * local and cost no I/O.
 *
 *  A ReentrantLease does less than a `Lease`, because other calls rely on the same lease. It cannot be detached, which
 * would end their lease, and `async_renew` takes no ttl, which would change their terms.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  Operations in progress share the state that they need: the ReentrantLease may be destroyed
 * before they complete, and the holder and the lock before the ReentrantLease.
 */
class [[nodiscard]] TENURE_API ReentrantLease
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    /** No ReentrantLease: `valid()` is false, the token counts as cancelled, and operations end with errc::released at
     * once. */
    ReentrantLease() noexcept;
    /** The moved-from object is no ReentrantLease. */
    ReentrantLease(ReentrantLease&& other) noexcept;
    /** Releases the previous ReentrantLease of this object in the background. */
    ReentrantLease& operator=(ReentrantLease&& other) noexcept;
    ReentrantLease(ReentrantLease const&) = delete;
    ReentrantLease& operator=(ReentrantLease const&) = delete;
    ~ReentrantLease();

    /** True while the holder may rely on the lease, and this ReentrantLease was not released. Reads the clock itself.
     */
    [[nodiscard]] bool valid() const noexcept;

    /** As `Lease::empty`. */
    [[nodiscard]] bool empty() const noexcept { return entry_ == nullptr; }

    /** The state of the lease; `released` once this ReentrantLease was released. */
    [[nodiscard]] LeaseState state() const noexcept;

    /** How many ReentrantLeases the holder has on the key now, this one included; 0 once this one was released. */
    [[nodiscard]] std::uint32_t depth() const noexcept;

    /** As those of `Lease`; the same for all ReentrantLeases that share the lease. @{ */
    [[nodiscard]] Instant valid_until() const noexcept;
    /** As `Lease::stop_at`. */
    [[nodiscard]] Instant stop_at() const noexcept;
    /** As `Lease::ttl`. */
    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept;
    /** As `Lease::key`. */
    [[nodiscard]] std::string const& key() const noexcept;
    /** As `Lease::owner`. */
    [[nodiscard]] std::string const& owner() const noexcept;
    /** As `Lease::fencing_token`. */
    [[nodiscard]] std::uint64_t fencing_token() const;
    /** As `Lease::has_fencing_token`. */
    [[nodiscard]] bool has_fencing_token() const noexcept;
    /** @} */

    /** The token of the lease: it is cancelled when the lease can no longer be relied on, or when the last
     * ReentrantLease ends. A released ReentrantLease returns the lease's token if that is cancelled, else a token that
     * counts as cancelled. */
    [[nodiscard]] CancellationToken token() const noexcept;

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept;

    /** Ends this ReentrantLease, and releases the key if it is the holder's last one on the key.
     *
     *  The ReentrantLease ends when the operation is initiated, whatever the outcome.
     *
     *  @par Completion signature  void(error_code, ReleaseOutcome), with `still_held` if other ReentrantLeases remain,
     * and `unconfirmed` after about 1 s without an answer
     *  @par Errors  errc::released: it was released before; asio::error::operation_aborted: cancelled by the caller,
     * the release continues in the background; errc::forked
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answer. Not total, which promises no
     *    side effect: this lease has ended from the call on
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_release(CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code, ReleaseOutcome), &start_release, &executor_of>(
            entry_, std::forward<CompletionToken>(completion));
    }

    /** Renews the lease now, for all ReentrantLeases that share it, with its present ttl. With `Renewal::manual` there
     * is no other renewal.
     *
     *  @par Completion signature  void(error_code)
     *  @par Errors  as `Lease::async_renew`; errc::released: this ReentrantLease was released
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answer. Not total, which promises no
     *    side effect: the store may have renewed the lease
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_renew(CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code), &start_renew, &executor_of>(
            entry_, std::forward<CompletionToken>(completion));
    }

    /** Waits until the lease is at risk or lost, or its last ReentrantLease has ended.
     *
     *  @par Completion signature  void(error_code)
     *  @par Errors  as `Lease::async_wait_at_risk`; errc::released: this ReentrantLease was released before
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_wait_at_risk(CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code), &start_wait_at_risk, &executor_of>(
            entry_, std::forward<CompletionToken>(completion));
    }

private:
    friend locks::HeldKey;
    friend detail::LeaveKey<ReentrantLease>;
    using EntryPtr = std::shared_ptr<locks::Entry>;
    using ReleaseHandler = boost::asio::any_completion_handler<void(error_code, ReleaseOutcome)>;
    using WaitHandler = boost::asio::any_completion_handler<void(error_code)>;

    explicit ReentrantLease(EntryPtr entry) noexcept;

    [[nodiscard]] static executor_type executor_of(EntryPtr const& entry) noexcept;
    static void start_release(EntryPtr const& entry, ReleaseHandler handler);
    static void start_renew(EntryPtr const& entry, WaitHandler handler);
    static void start_wait_at_risk(EntryPtr const& entry, WaitHandler handler);

    EntryPtr entry_;
};

} // namespace tenure
