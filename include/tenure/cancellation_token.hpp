// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/initiate.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

namespace tenure
{

using boost::system::error_code;

class Lease;

namespace engine
{
class TokenState;
}
namespace locks
{
class HeldSet;
}
namespace detail
{
class TaskControl;
}

/** Why a token was cancelled. */
enum class CancelReason {
    /// not cancelled
    none,
    /// no renewal succeeded in time: the lease can no longer be relied on
    expired,
    /// the store compared, and the key does not have the lease's owner: it was evicted, deleted, overwritten or expired
    not_owner,
    /// a renewal failed, with `CancelWhen::first_failed_renewal`
    first_failed_renewal,
    /// the lease was held for `max_hold`
    max_hold,
    /// the store was closed while the lease was held
    store_closed,
    /// the holder released the lease, or destroyed it; also the reason of a token without a lease
    released,
    /// the holder left the key to expire (`Lease::async_detach`)
    detached,
    /// of the token of a `Shard`: the shard is being given up to another member of its group, and is still held
    rebalanced
};
/// enumerators of `CancelReason`
inline constexpr std::size_t cancel_reasons = 9;

/** Whether the reason takes the lease away from its holder: any but `none`, `released`, `detached` and `rebalanced`. */
[[nodiscard]] constexpr bool is_loss(CancelReason reason) noexcept
{
    return reason != CancelReason::none && reason != CancelReason::released && reason != CancelReason::detached &&
           reason != CancelReason::rebalanced;
}

/** The name of the enumerator, for metrics and JSON: "expired". */
[[nodiscard]] TENURE_API std::string_view to_string(CancelReason reason) noexcept;
/** The reason in words, for people: "no renewal succeeded in time". */
[[nodiscard]] TENURE_API std::string_view describe(CancelReason reason) noexcept;

/** Tells when to stop the work that a lease covers. Copyable; all copies are the same token.
 *
 *  It is cancelled once and for good: when the lease is lost, at `valid_until - notice` at the latest, so that the work
 * has `notice` to stop while the lease still holds; or when the holder releases, detaches or destroys the lease. A
 * token without a lease, such as a default-constructed one, counts as cancelled with the reason `released`.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 */
class TENURE_API CancellationToken
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    CancellationToken() noexcept;
    /** The same token. */
    CancellationToken(CancellationToken const&) noexcept;
    /** The moved-from object is a token without a lease. */
    CancellationToken(CancellationToken&&) noexcept;
    /** The same token. */
    CancellationToken& operator=(CancellationToken const&) noexcept;
    /** The moved-from object is a token without a lease. */
    CancellationToken& operator=(CancellationToken&&) noexcept;
    ~CancellationToken();

    /** True once the lease can no longer be relied on, or was released or detached. Reads the clock itself: the result
     * is right even if the event loop was blocked or the process was paused. */
    [[nodiscard]] bool cancelled() const noexcept;

    /** Why it was cancelled; `CancelReason::none` while it is not. */
    [[nodiscard]] CancelReason reason() const noexcept;

    /** A standard stop token that is requested to stop when this token is cancelled. Its callbacks run on the store's
     * executor, never inside a release or a destructor. */
    [[nodiscard]] std::stop_token stop_token() const;

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(state_); }

    /** Waits until the token is cancelled; `reason()` then says why.
     *
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: it is cancelled; errc::forked: this process is a fork; asio::error::operation_aborted:
     * cancelled by the caller
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_wait(CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code), &start_wait, &executor_of>(
            state_, std::forward<CompletionToken>(completion));
    }

private:
    friend Lease;
    friend locks::HeldSet;
    friend class detail::TaskControl;
    using StatePtr = std::shared_ptr<engine::TokenState>;
    using WaitHandler = boost::asio::any_completion_handler<void(error_code)>;
    explicit CancellationToken(StatePtr state) noexcept;

    [[nodiscard]] static executor_type executor_of(StatePtr const& state) noexcept;
    static void start_wait(StatePtr const& state, WaitHandler handler);

    StatePtr state_;
};

} // namespace tenure
