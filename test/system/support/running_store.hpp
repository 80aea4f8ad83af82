// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

/** The token of most tests here: a future of all results of the operation. */
inline constexpr auto as_future = asio::as_tuple(asio::use_future);

/** The value of a future, or an exception if it does not come in time: no test hangs. */
template <class Result>
Result within(std::chrono::milliseconds limit, std::future<Result> future)
{
    if (future.wait_for(limit) != std::future_status::ready)
        throw std::runtime_error("an operation did not complete in time");
    return future.get();
}
template <class Result>
Result soon(std::future<Result> future)
{
    return within(std::chrono::seconds{20}, std::move(future));
}

/** A store with an event loop of its own in a thread of its own, so that a test can block. */
class RunningStore : Immovable
{
public:
    explicit RunningStore(std::string const& url);
    /** Lets go of the store and waits until its work has ended by itself; says so on standard error if it does not. */
    ~RunningStore();

    [[nodiscard]] Store const& store() const noexcept { return *store_; }
    [[nodiscard]] asio::any_io_executor executor() noexcept { return context_.get_executor(); }
    /** All log lines so far. */
    [[nodiscard]] std::string log() const;

    [[nodiscard]] SlotPool pool(std::uint32_t size, std::chrono::milliseconds ttl, LeaseOptions const& lease = {}) const
    {
        return SlotPool{store(), {.size = size, .ttl = ttl, .lease = lease}};
    }
    [[nodiscard]] Lock lock(std::string const& key, std::chrono::milliseconds ttl, LeaseOptions const& lease = {}) const
    {
        return Lock{store(), {.key = key, .ttl = ttl, .lease = lease}};
    }

    /** Waits for the grant; throws the error if there is none. */
    [[nodiscard]] static Slot acquire(SlotPool const& pool, AcquireOptions const& options = {})
    {
        return soon(pool.async_acquire(options, asio::use_future));
    }
    [[nodiscard]] static Lease acquire(Lock const& lock, AcquireOptions const& options = {})
    {
        return soon(lock.async_acquire(options, asio::use_future));
    }
    /** The error that an acquisition ends with; none if it got the lease (and gave it back). */
    template <class Lockable>
    [[nodiscard]] static error_code acquire_error(Lockable const& lockable, AcquireOptions const& options = {})
    {
        auto [error, lease] = soon(lockable.async_acquire(options, as_future));
        if (!lease.empty())
            release(lease);
        return error;
    }
    template <tenure::LeaseLike Held>
    static ReleaseOutcome release(Held& held)
    {
        return soon(held.async_release(asio::use_future));
    }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    mutable std::mutex mutex_;
    /// under the mutex
    std::string log_;
    std::optional<Store> store_;
    std::promise<void> ended_;
    std::thread thread_;
};

/** Records when a token fires, and why. */
class FiredAt
{
public:
    explicit FiredAt(CancellationToken const& token);
    /** The instant (ns of CLOCK_BOOTTIME) at which the waiter was told; empty if it was not within the limit, or the
     * lease was released. */
    [[nodiscard]] std::optional<std::int64_t> wait(std::chrono::milliseconds limit);

private:
    std::future<std::pair<error_code, std::int64_t>> told_;
};

/** Nanoseconds of CLOCK_BOOTTIME, as the auditor counts them. */
[[nodiscard]] inline std::int64_t nanoseconds(Instant instant)
{
    return instant.time_since_epoch().count();
}

/** Nanoseconds that the server's wall clock (of this machine) is ahead of CLOCK_BOOTTIME. */
[[nodiscard]] std::int64_t wall_clock_offset();

/** Seconds that soaks should last: TENURE_SOAK_SECONDS, else `usual`. */
[[nodiscard]] std::chrono::seconds soak_time(std::chrono::seconds usual);
/** Whether the long form was asked for. */
[[nodiscard]] bool long_form();

} // namespace tenure::test
