// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/strand.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/log.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace tenure
{

namespace asio = boost::asio;

namespace engine
{
class OwnThread;
}

/** Work that runs later, once; move-only. */
using Task = OneShot<void()>;

/** What the engine and the stores get from outside: time, timers, randomness, a place to run, a log.
 *
 *  A store built by `connect` uses a runtime over the user's executor; a simulation hands in one of its own, with a
 *  virtual clock, and drives the very same code.
 *
 *  @par Thread safety  `now`, `wall_clock`, the executors, `strand` and `post` are safe from any thread; the rest
 * belongs to the strand, or to who makes a store while nothing runs there yet.
 */
class TENURE_API Runtime
{
public:
    /** Names one pending timer; 0 names none. */
    using TimerId = std::uint64_t;

    Runtime() = default;
    Runtime(Runtime const&) = delete;
    Runtime& operator=(Runtime const&) = delete;
    virtual ~Runtime() = default;

    [[nodiscard]] virtual Instant now() const noexcept = 0;

    /** The machine's wall clock, which people may set: for display only. */
    [[nodiscard]] virtual std::chrono::sys_seconds wall_clock() const noexcept = 0;

    /** 64 bits that no other process can guess (a simulation: of its seed). */
    [[nodiscard]] virtual std::uint64_t random() = 0;

    /** The user's executor: where handlers without an executor of their own run. */
    [[nodiscard]] virtual asio::any_io_executor const& user_executor() const noexcept = 0;

    /** The strand on which engine and backend run. */
    [[nodiscard]] virtual Strand const& strand() const noexcept = 0;

    /** The executor below the strand, for sockets: the user's, or that of the store's own thread. */
    [[nodiscard]] asio::any_io_executor const& io_executor() const noexcept { return strand().get_inner_executor(); }

    /** For the engine: the store's own thread (`StoreOptions::own_thread`); null if it has none. */
    [[nodiscard]] virtual engine::OwnThread* own_thread() const noexcept { return nullptr; }

    /** Runs the task on the strand, after the caller has returned. */
    virtual void post(Task task) = 0;

    /** Runs the task on the strand at `when` or soon after, never before and never inside this call. A pending timer
     * counts as work of the executor. */
    virtual TimerId call_at(Instant when, Task task) = 0;

    /** Forgets a timer that has not run yet; unknown ids and 0 are ignored. */
    virtual void cancel(TimerId id) noexcept = 0;

    [[nodiscard]] virtual bool logs(LogLevel level) const noexcept = 0;
    virtual void log(LogLevel level, std::string_view line) const noexcept = 0;
};

} // namespace tenure
