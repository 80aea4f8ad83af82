// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/errc.hpp>
#include <tenure/event.hpp>
#include <tenure/inspection.hpp>
#include <tenure/key_range.hpp>
#include <tenure/log.hpp>
#include <tenure/metrics.hpp>
#include <tenure/statistics.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure
{

class AcquirableKeys;
class Backend;
class Election;
class Lock;
class ReadWriteLock;
class Semaphore;
class SlotPool;
class View;

namespace backend
{
class Runtime;
}
namespace detail
{
struct Serve;
}
namespace engine
{
class Handle;
}

/** Options of every kind of store. */
struct StoreOptions {
    /// readable first part of every owner; printable, without blanks and '/', at most 128 bytes, not `evicted`, `kept`
    /// or `resting`. Empty: host:pid
    std::string worker_name = {};
    /// where log lines go. Empty: `default_log_sink()`, which is spdlog's logger `tenure` if the program has registered
    /// it, else standard error. A sink may block
    LogSink log = {};
    /// the lowest level that is logged
    LogLevel log_level = LogLevel::warning;
    /// receives each acquisition, wait, lease at risk, loss and release, for tracing. Called by the thread of the
    /// log, so it may block. Empty: events are not made
    EventHook on_event = {};
    /// called at the start of each acquisition if `on_event` is set: its result is in each event of the acquisition and
    /// of its lease. Empty: `Event::context` is null
    EventContext event_context = {};
    /// all I/O, timers and renewals of the store run on a thread of its own: handlers that block the executor cost no
    /// lease. Handlers still run on the executor, never on that thread; only a `CredentialsSource` and an `AddressMap`
    /// run there. The thread is detached, blocks all signals and ends when the store is closed. The store then does not
    /// count as work of the executor: `io_context::run()` waits for pending operations, not for held leases. Opening
    /// the store throws std::system_error if no thread can be started
    bool own_thread = false;
    /// orders the locks of several stores, for `MultiLock`. Use the same name in every process that uses this store,
    /// whatever its address there, and a different name for every other store. Printable, without blanks and '/', at
    /// most 128 bytes. Empty: a MultiLock with locks of this store and of another one is refused
    std::string order_name = {};
};

/** The last error of a store, in words for a person. */
struct Diagnostics {
    /// address of the store, without secrets
    std::string store;
    /// the last error; a default error_code if there was none
    error_code last_error;
    /// the server's message, the node, the key and the remedy. Empty if there was no error
    std::string last_detail;
    /// time since the error
    std::chrono::nanoseconds age{};
};

/** The user's handle to a store: cheap to copy, all copies are the same store.
 *
 *  Made by `open_store`, or over your own backend; pools, locks and
 *  leases share it. Its connections close when the last of them is gone and no operation is pending.
 *
 *  Renewals run on the store's executor. Handlers that block all threads of its context for longer than
 * `tolerated_outage()` of a lock or pool lose its leases: move such work to another executor, or open the store on a
 * context with its own thread (docs/users/threading-and-cancellation.md).
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 */
class TENURE_API Store
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    /** A store over your own backend (see docs/integrators/writing-a-store.md).
     *
     *  @param runtime  `make_runtime(executor, options)`, which sends log lines to `options.log`; the backend must use
     *    the same runtime
     *  @throws std::invalid_argument for an invalid worker name */
    Store(std::shared_ptr<backend::Runtime> runtime, std::shared_ptr<Backend> backend, StoreOptions options);

    /** Where handlers run that have no executor of their own: the executor that the store was opened with. */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(handle_); }

    /** The address of the store, without secrets. */
    [[nodiscard]] std::string describe() const;

    /** Counts what happened since the store was opened. No I/O; cheap. */
    [[nodiscard]] Statistics statistics() const noexcept;
    /** Distributions of waiting, holding, hand-over and renewal margin by lock and pool, and of the store's requests.
     * Without I/O. */
    [[nodiscard]] StoreMetrics metrics() const;
    /** The last error of the store with its details, for people. No I/O. */
    [[nodiscard]] Diagnostics diagnostics() const;
    /** The name that others see as the holder: `StoreOptions::worker_name`, or host:pid. */
    [[nodiscard]] std::string const& worker_name() const noexcept;

    /** Checks the argument of a later `Lease::async_detach(remaining)`, so that work need not begin in vain. Without
     * I/O.
     *
     *  @throws std::invalid_argument with the reason: this store does not allow this time, or cannot detach
     */
    void check_detach(std::chrono::milliseconds remaining) const;

    /** Lists the holder of each key of the range: a snapshot for display that proves nothing.
     *
     *  @par Completion signature  void(error_code, std::vector<KeyState>)
     *  @par Errors  errc::store_unavailable: no connection within 5 s, or no answer on it; errc::store_refused,
     *               errc::permission_denied and other errors of the store; errc::closed: the store was closed;
     *               errc::forked; asio::error::operation_aborted
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_inspect(KeyRangePtr range, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code, std::vector<KeyState>), &start_inspect, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), std::move(range));
    }

    /** Force-releases one key: replaces the observed owner by `evicted/<who>` and keeps the remaining ttl (on etcd a
     * whole ttl). Its holder loses the lease at the next renewal. The key becomes free only after the validity has
     * certainly ended.
     *
     *  @param seen  as `async_inspect` showed it; if the key has another owner now, nothing changes
     *  @param who  the evicting person or program: printable, without blanks and '/', at most 128 bytes
     *  @par Completion signature  void(error_code, std::chrono::milliseconds), the time until the key is free
     *  @par Errors  errc::lease_lost: the key does not have that owner; errc::key_conflict: it is no lease, because it
     *               never expires or its value is longer than an owner; std::errc::invalid_argument: `who`, or `seen`
     * is not from an inspection; errc::store_unavailable: no connection within 5 s, or no answer on it and it may still
     * take effect; other errors of the store; errc::closed: the store was closed; errc::forked;
     *               asio::error::operation_aborted: it may still take effect
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answer. Not total, which promises no
     *    side effect: the key may have been freed
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_evict(KeyState seen, std::string who, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code, std::chrono::milliseconds), &start_evict, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), std::move(seen), std::move(who));
    }

    /** Frees a resting or kept key before its time: ends a quarantine, or lets a job run again whose last holder left
     * the key to expire (`Lease::async_detach`). Waiters are notified. A held key stays as it is: use `async_evict`.
     *
     *  @param seen  as `async_inspect` showed it; if the key has another value now, nothing changes
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: the key is free, or has another holder by now; std::errc::invalid_argument: `seen` is not
     *               resting or kept, or is not from an inspection; errc::store_unavailable: no connection within 5 s,
     *               or no answer on it and it may still take effect; other errors of the store; errc::closed: the
     *               store was closed; errc::forked; asio::error::operation_aborted: it may still take effect
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answer. Not total, which promises no
     *    side effect: the key may have been freed
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_free(KeyState seen, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code), &start_free, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), std::move(seen));
    }

    /** Lists the names of keys that begin with a text, for people: inspect them to see which are held.
     *
     *  It may read the whole store, in steps that delay no other request for long: `SCAN` on each Redis master, pages
     * of a range on etcd, all nodes below the chroot on ZooKeeper, all files of a directory. It ends after 5 s with
     * what it has found.
     *
     *  @param prefix  the begin of the names; empty: all, also those of other programs
     *  @param most  the most names to return
     *  @par Completion signature  void(error_code, KeyList)
     *  @par Errors  std::errc::operation_not_supported: the store cannot list its keys; errc::store_unavailable: no
     *               connection within 5 s; errc::permission_denied and other errors of the store; errc::closed: the
     *               store was closed; errc::forked; asio::error::operation_aborted
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_list(std::string prefix, std::size_t most, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code, KeyList), &start_list, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), std::move(prefix), most);
    }

    /** Examines the server on behalf of leases with this ttl: version, round trip, persistence, eviction, permissions.
     *
     *  @par Completion signature  void(error_code, Findings)
     *  @par Errors  errc::forked; asio::error::operation_aborted; a failed check is a finding and no
     *               error, and so is no connection within 5 s
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_examine(std::chrono::milliseconds ttl, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code, Findings), &start_examine, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), ttl);
    }

    /** Connects and logs in, so that a service fails at its start and not at its first acquisition.
     *
     *  Optional: every operation connects by itself. A store that has been ready may become unavailable later.
     *
     *  @param timeout  more than 0: how long to retry while the store is unavailable
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: connected, logged in, and a first request was answered;
     *               errc::authentication_failed, errc::permission_denied, errc::wrong_database, errc::wrong_server,
     *               errc::tls_failed: at once, because a person has to act;
     *               errc::store_unavailable, errc::store_refused, errc::protocol_error: the last one seen, at the
     *               timeout; `diagnostics()` has the details of each of these;
     *               errc::closed: the store is being closed; errc::forked; asio::error::operation_aborted
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_ready(std::chrono::milliseconds timeout, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code), &start_ready, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), timeout);
    }

    /** Closes the store in an orderly way, for a service that shuts down.
     *
     *  From this call on all acquisitions end with errc::closed, also those that wait. Held leases stay valid and are
     *  renewed until their release or the timeout. The release of a lease that was lost is awaited for 1 s at most. At
     * the timeout their tokens are cancelled with the reason `store_closed`, and their keys expire with the ttl,
     * because work under them may still be running. Afterwards the connections are closed, and the store leaves no work
     * on its executor. Closing again is allowed; the earliest timeout counts.
     *
     *  @param timeout  0 or more: how long leases may still be held
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: no lease is held; a release that is unanswered at the timeout expires with its ttl;
     *               errc::timed_out: leases were still held at the timeout;
     *               errc::forked; asio::error::operation_aborted: cancelled by the caller, the store continues to close
     *  @par Per-operation cancellation  terminal, partial: stops waiting. Not total, which promises no side effect: the
     *    store is being closed from this call on
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_close(std::chrono::milliseconds timeout, CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code), &start_close, &executor_of>(
            handle_, std::forward<CompletionToken>(completion), timeout);
    }

    /** Whether both are the same store. */
    friend bool operator==(Store const& left, Store const& right) noexcept { return left.handle_ == right.handle_; }

private:
    using HandlePtr = std::shared_ptr<engine::Handle>;
    friend AcquirableKeys;
    friend struct detail::Serve;
    friend Election;
    friend Lock;
    friend ReadWriteLock;
    friend Semaphore;
    friend SlotPool;
    friend View;

    explicit Store(HandlePtr handle) noexcept
        : handle_(std::move(handle))
    {
    }

    using DoneHandler = boost::asio::any_completion_handler<void(error_code)>;
    using InspectHandler = boost::asio::any_completion_handler<void(error_code, std::vector<KeyState>)>;
    using EvictHandler = boost::asio::any_completion_handler<void(error_code, std::chrono::milliseconds)>;
    using ListHandler = boost::asio::any_completion_handler<void(error_code, KeyList)>;
    using ExamineHandler = boost::asio::any_completion_handler<void(error_code, Findings)>;

    [[nodiscard]] static boost::asio::any_io_executor const& executor_of(HandlePtr const& handle) noexcept;
    static void start_ready(HandlePtr const& handle, std::chrono::milliseconds timeout, DoneHandler handler);
    static void start_close(HandlePtr const& handle, std::chrono::milliseconds timeout, DoneHandler handler);
    static void start_inspect(HandlePtr handle, KeyRangePtr range, InspectHandler handler);
    static void start_evict(HandlePtr handle, KeyState seen, std::string who, EvictHandler handler);
    static void start_free(HandlePtr handle, KeyState seen, DoneHandler handler);
    static void start_list(HandlePtr handle, std::string prefix, std::size_t most, ListHandler handler);
    static void start_examine(HandlePtr handle, std::chrono::milliseconds ttl, ExamineHandler handler);

    HandlePtr handle_;
};

} // namespace tenure
