// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable_keys.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/inspection.hpp>
#include <tenure/key_range.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tenure
{

namespace locks
{
class ViewHandle;
}

/** How a view reads. */
struct ViewOptions {
    /// time between two reads of the keys, 100 ms to 1 h. A notification, or the expiry of a key, causes an earlier
    /// read
    std::chrono::milliseconds refresh{1'000};
};

/** The content of a View at one time: a plain value. It may be outdated when it is read, and proves no ownership. */
struct ViewSnapshot {
    /// as `Store::async_inspect` returns them, one for each key of the range; empty until the store has answered.
    /// `remaining` and `held_for` are adjusted to the time of the call. A key that should have expired but was not read
    /// since is shown with its last state and a `remaining` of 0, never as free
    std::vector<KeyState> keys;
    /// age of the store's answer, counted from before the request was written; unset: it has not answered yet
    std::optional<std::chrono::nanoseconds> age;
    /// the store has not confirmed this content for 3 times `refresh` (at least 3 s), or for 1 s after one of the keys
    /// should have expired
    bool stale = false;
    /// grows when a key changes its kind or owner, and when `stale` changes; 0 until the store has answered
    std::uint64_t version = 0;
};

/** Shows the holders of keys from a local cache that is refreshed in the background.
 *
 *  ```
 *  tenure::View view(pool);
 *  auto seen = co_await view.async_changed(0);          // the store's first answer
 *  for (;;)
 *      seen = co_await view.async_changed(seen.version);
 *  ```
 *  The view reads the keys every `refresh`, when the store announces a release, and when a key should expire. No
 *  store announces an acquisition: the next refresh sees it. While the store is unavailable the cache still answers,
 *  and its age grows.
 *
 *  - **It reads, and never grants.** A snapshot shows the past. It proves no ownership.
 *  - **The newest wins.** A slow reader misses intermediate changes. Only one request is pending at a time, so an older
 *    state never replaces a newer one, unless the store itself loses writes, as Redis may in a failover.
 *  - **Cost:** one inspection of the range for each refresh, used or not, and one subscription. The pause between
 *    inspections is at least 50 ms, and at least the duration of the last one. A snapshot copies the states of all
 *    keys.
 *
 *  Copies are the same view. It stops reading when the last copy and the last `async_changed` have gone, and when the
 *  store is closed. Until then it counts as work of the store's executor: `io_context::run()` does not return, unless
 *  the store has its own thread.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 */
class TENURE_API View
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    /** Begins to read.
     *  @throws std::invalid_argument naming field, value and rule, before any I/O */
    View(Store store, KeyRangePtr range, ViewOptions options = {});

    /** Follows the keys of a lock or a pool, which need not outlive the view. @throws std::invalid_argument */
    explicit View(AcquirableKeys const& keys, ViewOptions options = {})
        : View(keys.store(), keys.range(), options)
    {
    }

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(handle_); }
    /** The keys that it reads. */
    [[nodiscard]] KeyRangePtr range() const noexcept;

    /** The present state of the cache, without I/O. After the store was closed it is the last state, and in a fork of
     * the process that made the view an empty one. */
    [[nodiscard]] ViewSnapshot snapshot() const;

    /** Waits for a version other than the one that was seen.
     *
     *  @param seen  `ViewSnapshot::version`; 0 waits for the first answer
     *  @par Completion signature  void(error_code, ViewSnapshot)
     *  @par Errors  errc::closed: the store is being closed; errc::forked; asio::error::operation_aborted: cancelled by
     * the caller. An unavailable store is no error here: the snapshot becomes stale
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_changed(std::uint64_t seen, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code, ViewSnapshot), &start, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), seen);
    }

private:
    using HandlePtr = std::shared_ptr<locks::ViewHandle>;
    [[nodiscard]] static boost::asio::any_io_executor const& executor_of(HandlePtr const& handle) noexcept;
    static void start(
        HandlePtr const& handle, std::uint64_t seen,
        boost::asio::any_completion_handler<void(error_code, ViewSnapshot)> handler);

    HandlePtr handle_;
};

} // namespace tenure
