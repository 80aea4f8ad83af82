// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/errc.hpp>
#include <tenure/inspection.hpp>
#include <tenure/key_range.hpp>
#include <tenure/log.hpp>
#include <tenure/statistics.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure
{

namespace asio = boost::asio;

class Backend;
class Election;
class Lock;
class Runtime;
class SlotPool;
class View;
template <class>
class Acquirable;

namespace engine
{
class Handle;
}

/** What a store is told about its user. */
struct StoreOptions {
    /// readable first part of every owner; printable, no '/', not `evicted`, `kept` or `resting`, at most 128 bytes.
    /// Empty: host:pid
    std::string worker_name = {};
    /// where log lines go; empty: `default_log_sink()`, which is standard error. A sink may block
    LogSink log = {};
    /// the least level that is logged
    LogLevel log_level = LogLevel::warning;
    /// all I/O, timers and renewals of the store run on a thread that belongs to it: handlers that block the executor
    /// cost no lease. Handlers still run on the executor, never on that thread; only a `CredentialsSource` runs there.
    /// The thread is detached, blocks all signals and ends when the store is closed. The store is then no work of the
    /// executor: `io_context::run()` waits for pending operations, not for held leases. Opening the store throws
    /// std::system_error if no thread can be started
    bool own_thread = false;
    /// what puts the locks of several stores into one order, for `MultiLock`: the same in every process that uses this
    /// store, whatever address each uses, and another one for every other store. Printable, no '/', at most 128 bytes.
    /// Empty: a MultiLock with locks of this store and of another one is refused
    std::string order_name = {};
};

/** The last trouble with a store, in words for a person. */
struct Diagnostics {
    /// which store, without secrets
    std::string store;
    /// the last error; no error if there was none
    error_code last_error;
    /// the server's words, the node and the key; what to do. Empty if there was none
    std::string last_detail;
    /// how long ago
    std::chrono::nanoseconds age{};
};

/** The user's handle to a store: cheap to copy, all copies are the same store.
 *
 *  Made by `connect` or one of the `open_...` functions of `tenure/stores/`, or over a backend of one's own; pools,
 * locks and leases share it. When the last of them is gone and nothing is under way, its connections close by
 * themselves.
 *
 *  Renewals run on the store's executor. Handlers that block all threads of its context for longer than
 * `tolerated_outage()` of a lock or pool cost its leases: move such work to another executor, or open the store on a
 * context that a thread of its own runs (docs/threading-and-cancellation.md).
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; only moving,
 *  assigning and destroying it need that no other thread uses it.
 */
class TENURE_API Store
{
public:
    using executor_type = asio::any_io_executor;

    /** A store over a backend of one's own (see docs/backends.md).
     *
     *  @param runtime  `make_runtime(executor, options)`, which is where lines go to `options.log`; the backend's, too
     *  @throws std::invalid_argument for a worker name that is not usable */
    Store(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, StoreOptions options);

    [[nodiscard]] executor_type get_executor() const noexcept;

    /** Where this is, without secrets. */
    [[nodiscard]] std::string describe() const;

    [[nodiscard]] Statistics statistics() const noexcept;
    [[nodiscard]] Diagnostics diagnostics() const;
    [[nodiscard]] std::string const& worker_name() const noexcept;

    /** Refuses at once what `Lease::async_detach(remaining)` would refuse, so that work which is to end so need not
     * begin. Without I/O.
     *
     *  @throws std::invalid_argument with the reason: this store allows no such time, or cannot keep a key taken at all
     */
    void check_detach(std::chrono::milliseconds remaining) const;

    /** Who holds which key of the range: a snapshot for people, it proves nothing.
     *
     *  @par Completion signature  void(error_code, std::vector<KeyState>)
     *  @par Errors  errc::store_unavailable, errc::store_refused, errc::permission_denied and other errors of the
     * store; asio::error::operation_aborted
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_inspect(KeyRangePtr range, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, std::vector<KeyState>)>(
            InitiateInspect{{handle_, get_executor()}}, completion, std::move(range));
    }

    /** Force-releases one key: replaces the owner that was seen by `evicted/<who>` and keeps the remaining ttl (on
     * etcd a whole one). Its holder loses the lease at the next renewal; the key frees when its validity surely ended.
     *
     *  @param owner  as `async_inspect` showed it; another owner is left alone
     *  @param who  who evicts: printable, at most 128 bytes
     *  @par Completion signature  void(error_code, std::chrono::milliseconds), the time until the key frees
     *  @par Errors  errc::lease_lost: the key does not bear that owner (any more); errors of the store;
     *               asio::error::operation_aborted: it may still take effect
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting for the answer
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_evict(
        KeyRangePtr range, std::uint32_t index, std::string owner, std::string who,
        CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, std::chrono::milliseconds)>(
            InitiateEvict{{handle_, get_executor()}}, completion, std::move(range), index, std::move(owner),
            std::move(who));
    }

    /** Examines the server on behalf of leases with this ttl: version, round trip, persistence, eviction, permissions.
     *
     *  @par Completion signature  void(error_code, Findings)
     *  @par Errors  asio::error::operation_aborted; what could not be seen is a finding, not an error
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_examine(std::chrono::milliseconds ttl, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, Findings)>(
            InitiateExamine{{handle_, get_executor()}}, completion, ttl);
    }

    /** Connects and logs in, so that a service fails at its start and not at its first acquisition.
     *
     *  Optional: every operation connects by itself. A store that has been ready may become unavailable later.
     *
     *  @param timeout  more than 0: how long to go on trying while the store is unavailable
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: connected, logged in, and a first request was answered;
     *               errc::authentication_failed, errc::permission_denied, errc::wrong_database, errc::wrong_server,
     *               errc::tls_failed: at once, because a person has to act;
     *               errc::store_unavailable, errc::store_refused, errc::protocol_error: the last one seen, at the
     *               timeout; `diagnostics()` has the details of each of these;
     *               errc::closed: the store is being closed; errc::forked; asio::error::operation_aborted
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_ready(std::chrono::milliseconds timeout, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code)>(
            InitiateReady{{handle_, get_executor()}}, completion, timeout);
    }

    /** Closes the store in an orderly way, as a service does that is told to stop.
     *
     *  From this call on nothing is acquired: acquisitions, also those that wait, end with errc::closed. Leases that
     * are held stay valid and are renewed until they have been released, or until the timeout: then their tokens are
     * cancelled with the reason `store_closed`, and their keys are left to lapse by the ttl, because work may still go
     * on under them. Afterwards the connections are closed, and the store leaves no work on its executor. Closing again
     * is allowed; the earliest timeout counts.
     *
     *  @param timeout  0 or more: how long leases may be held on
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: every lease was released; errc::timed_out: leases were still held at the timeout;
     *               errc::forked; asio::error::operation_aborted: cancelled by the caller, the store goes on closing
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_close(std::chrono::milliseconds timeout, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code)>(
            InitiateClose{{handle_, get_executor()}}, completion, timeout);
    }

private:
    using HandlePtr = std::shared_ptr<engine::Handle>;
    template <class>
    friend class Acquirable;
    friend Election;
    friend Lock;
    friend SlotPool;
    friend View;

    explicit Store(HandlePtr handle) noexcept
        : handle_(std::move(handle))
    {
    }

    using DoneHandler = asio::any_completion_handler<void(error_code)>;
    using InspectHandler = asio::any_completion_handler<void(error_code, std::vector<KeyState>)>;
    using EvictHandler = asio::any_completion_handler<void(error_code, std::chrono::milliseconds)>;
    using ExamineHandler = asio::any_completion_handler<void(error_code, Findings)>;

    struct Initiate {
        HandlePtr handle;
        asio::any_io_executor executor;
        using executor_type = asio::any_io_executor;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor; }
    };
    struct InitiateInspect : Initiate {
        template <class Handler>
        void operator()(Handler&& handler, KeyRangePtr range) const
        {
            start_inspect(this->handle, std::move(range), std::forward<Handler>(handler));
        }
    };
    struct InitiateEvict : Initiate {
        template <class Handler>
        void
        operator()(Handler&& handler, KeyRangePtr range, std::uint32_t index, std::string owner, std::string who) const
        {
            start_evict(
                this->handle, std::move(range), index, std::move(owner), std::move(who),
                std::forward<Handler>(handler));
        }
    };
    struct InitiateExamine : Initiate {
        template <class Handler>
        void operator()(Handler&& handler, std::chrono::milliseconds ttl) const
        {
            start_examine(this->handle, ttl, std::forward<Handler>(handler));
        }
    };
    struct InitiateReady : Initiate {
        template <class Handler>
        void operator()(Handler&& handler, std::chrono::milliseconds timeout) const
        {
            start_ready(this->handle, timeout, std::forward<Handler>(handler));
        }
    };
    struct InitiateClose : Initiate {
        template <class Handler>
        void operator()(Handler&& handler, std::chrono::milliseconds timeout) const
        {
            start_close(this->handle, timeout, std::forward<Handler>(handler));
        }
    };

    static void start_ready(HandlePtr const& handle, std::chrono::milliseconds timeout, DoneHandler handler);
    static void start_close(HandlePtr const& handle, std::chrono::milliseconds timeout, DoneHandler handler);
    static void start_inspect(HandlePtr handle, KeyRangePtr range, InspectHandler handler);
    static void start_evict(
        HandlePtr handle, KeyRangePtr range, std::uint32_t index, std::string owner, std::string who,
        EvictHandler handler);
    static void start_examine(HandlePtr handle, std::chrono::milliseconds ttl, ExamineHandler handler);

    HandlePtr handle_;
};

} // namespace tenure
