// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/completion.hpp"
#include "runtime/error_details.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"
#include "store/request.hpp"

#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace tenure::engine
{
class Core;
class LeaseTarget;
} // namespace tenure::engine

namespace tenure::locks
{

/** The locks of a MultiLock without duplicates, in the order in which every process waits for them. */
class OrderedLocks
{
public:
    /** @throws std::invalid_argument for no locks, too many locks, or stores without a common order */
    explicit OrderedLocks(std::vector<Lock> named);

    [[nodiscard]] std::size_t size() const noexcept { return locks_.size(); }
    [[nodiscard]] Lock const& operator[](std::size_t position) const { return locks_[position]; }
    [[nodiscard]] std::shared_ptr<engine::LeaseTarget> const& target(std::size_t position) const noexcept;
    /** Positions of the locks in the caller's order. */
    [[nodiscard]] std::vector<std::size_t> const& as_named() const noexcept { return as_named_; }
    /** The engine of the first lock's store. Its strand and clock serve all operations on the locks. */
    [[nodiscard]] engine::Core& core() const noexcept { return core_of(locks_.front()); }

private:
    [[nodiscard]] static engine::Core& core_of(Lock const& lock) noexcept;
    static void check_stores(std::vector<Lock> const& named);

    std::vector<Lock> locks_;
    std::vector<std::size_t> as_named_;
};

/** One acquisition of several locks, all or none.
 *
 *  Claims every missing lock at once, without waiting. If others hold some of them, it releases its leases after the
 *  first busy lock, waits for that lock, and claims again. So it never waits for a lock while it holds a later one, and
 *  no deadlock is possible. Everything runs on the strand of the first lock's store.
 */
class MultiAcquisition : public std::enable_shared_from_this<MultiAcquisition>
{
public:
    using Handler = engine::Completion<void(error_code, LeaseSet)>;

    /** Call it on the thread of the initiating call. */
    static void
    start(std::shared_ptr<OrderedLocks const> locks, AcquireOptions const& options, bool is_try, Handler handler);

    MultiAcquisition(
        std::shared_ptr<OrderedLocks const> locks, AcquireOptions const& options, bool is_try, Handler handler);
    MultiAcquisition(MultiAcquisition const&) = delete;
    MultiAcquisition& operator=(MultiAcquisition const&) = delete;
    // without completion only a context that ends destroys it, on any thread
    ~MultiAcquisition() { timer_.forget(); }

private:
    /** All operations that began together are answered. */
    struct Answered {
    };
    struct Part {
        Lease lease;
        /// cancels its pending operation
        asio::cancellation_signal cancel;
        /// for the events of its acquisitions and leases, one after the other
        std::shared_ptr<void> event_context;
    };

    /** Acquires a single lock without the machinery for several. */
    static void start_single(OrderedLocks const& locks, AcquireOptions const& options, bool is_try, Handler handler);
    void begin();
    [[nodiscard]] static store::Request<error_code> in_steps(std::shared_ptr<MultiAcquisition> self);
    /** The acquisition ends with this error once all operations are answered: the user cancelled, or the deadline has
     *  passed. */
    void end_with(error_code error, ErrorDetails details = nullptr);

    /** Operations that begin together. Each of their handlers owns it. */
    struct Together {
        /// number of unanswered operations
        std::size_t open;
        OneShot<void(Answered&&)> handler;
    };
    /** Acquires these locks, each alone; completes when all are answered. */
    [[nodiscard]] store::Step<Answered> acquire(std::vector<std::size_t> positions, AcquireOptions const& options);
    void acquire(std::size_t position, AcquireOptions const& options, std::shared_ptr<Together> const& together);
    void answered(std::size_t position, error_code error, Lease lease, ErrorDetails details);
    /** Positions of the locks without a valid lease. */
    [[nodiscard]] std::vector<std::size_t> missing();
    /** The answers for this lock come on the strand of this acquisition. */
    [[nodiscard]] bool is_here(std::size_t position) const noexcept;
    void complete(error_code error);

    [[nodiscard]] std::chrono::milliseconds time_left() const;

    std::shared_ptr<OrderedLocks const> locks_;
    std::shared_ptr<Runtime> runtime_;
    AcquireOptions options_;
    bool is_try_;
    std::optional<Handler> handler_;
    Instant deadline_ = Instant::max();
    Timer timer_{*runtime_};
    std::vector<Part> parts_;
    /// of the last operations: the first lock that others hold, or whose store is temporarily unavailable
    std::optional<std::size_t> first_busy_;
    error_code why_busy_;
    /// details of the error that it ends with, or of why_busy_
    ErrorDetails details_;
    /// set: the acquisition ends with this error once all operations are answered
    std::optional<error_code> ends_with_;
};

} // namespace tenure::locks
