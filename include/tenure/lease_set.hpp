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

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace tenure
{

namespace locks
{
class HeldSet;
}

class LeaseSet;
template <>
struct detail::LeaveKey<LeaseSet> {
    TENURE_API static void of(LeaseSet& set) noexcept;
};

/** Leases on several keys that are held together, from `MultiLock`. Move-only; the destructor releases all of them.
 *
 *  A set is valid while all its leases are valid, and its token is cancelled when the first lease's token is. Each key
 *  has its own fencing token: pass a key's token with the writes that the key guards.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 */
class [[nodiscard]] TENURE_API LeaseSet
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    /** Holds nothing. */
    LeaseSet() noexcept;
    /** The moved-from set holds nothing. */
    LeaseSet(LeaseSet&&) noexcept;
    /** Releases the leases that this object held before, in the background. */
    LeaseSet& operator=(LeaseSet&&) noexcept;
    LeaseSet(LeaseSet const&) = delete;
    LeaseSet& operator=(LeaseSet const&) = delete;
    /** Releases the remaining leases in the background. */
    ~LeaseSet();

    /** As `Lease::empty`. */
    [[nodiscard]] bool empty() const noexcept { return held_ == nullptr; }

    /** True while every lease is valid. */
    [[nodiscard]] bool valid() const noexcept;
    /** The earliest `valid_until` of the leases. */
    [[nodiscard]] Instant valid_until() const noexcept;
    /** Cancelled when the first lease is lost, with its reason, or when the set is released. */
    [[nodiscard]] CancellationToken token() const noexcept;

    /** How many keys it holds. */
    [[nodiscard]] std::size_t size() const noexcept;
    /** The lease of one key, in the order in which the keys were named; a key that was named twice counts once.
     *  @throws std::out_of_range beyond `size()` */
    [[nodiscard]] Lease const& operator[](std::size_t index) const;
    /** The fencing token of a key. If keys of two stores have the same name, it is the first one's.
     *  @throws std::out_of_range if the set does not hold the key
     *  @throws std::logic_error as `Lease::fencing_token` */
    [[nodiscard]] std::uint64_t fencing_token(std::string_view key) const;

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept;

    /** Releases all leases and waits for the stores' answers.
     *
     *  The set ends when the operation is initiated, whatever the outcome.
     *
     *  @par Completion signature  void(error_code, ReleaseOutcome): `was_lost` if any lease had been lost before, else
     * `unconfirmed` if any release was not answered within about 1 s, else `released`
     *  @par Errors  errc::released: its release has begun before; errc::forked; asio::error::operation_aborted:
     * cancelled by the caller
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answers. Not total, which promises no
     *    side effect: the leases are over from this call on
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_release(CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code, ReleaseOutcome), &start_release, &executor_of>(
            held_, std::forward<CompletionToken>(completion));
    }

private:
    using HeldPtr = std::shared_ptr<locks::HeldSet>;
    using ReleaseHandler = boost::asio::any_completion_handler<void(error_code, ReleaseOutcome)>;

    friend locks::HeldSet;
    friend detail::LeaveKey<LeaseSet>;
    explicit LeaseSet(HeldPtr held) noexcept;
    [[nodiscard]] static boost::asio::any_io_executor const& executor_of(HeldPtr const& held) noexcept;
    static void start_release(HeldPtr const& held, ReleaseHandler handler);

    HeldPtr held_;
};

} // namespace tenure
