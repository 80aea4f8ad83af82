// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/strand.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/log.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace tenure
{
struct StoreOptions;
}

namespace tenure::backend
{

/** Work that runs later, once; move-only. */
using Task = OneShot<void()>;

/** The environment of engine and stores: time, timers, random numbers, executors, a log.
 *
 *  A store built by `connect` uses a runtime over the user's executor; a simulation passes its own runtime with a
 *  virtual clock and drives the same code.
 *
 *  @par Thread safety  `now`, `wall_clock`, the executors, `strand` and `post` are safe from any thread; the rest
 *    belongs to the strand, or to the code that makes a store before the strand runs.
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

    /** The present instant of the store's clock. */
    [[nodiscard]] virtual Instant now() const noexcept = 0;

    /** The machine's wall clock, which may be adjusted: for display only. */
    [[nodiscard]] virtual std::chrono::sys_seconds wall_clock() const noexcept = 0;

    /** 64 random bits for pauses and choices. They are no secret, and a copy of the process, such as a resumed snapshot
     * of its machine, draws the same ones. */
    [[nodiscard]] virtual std::uint64_t random() = 0;

    /** Fills `bytes` with what no other process can guess and no copy of this process draws: for owners and other names
     *  that must be unique. The kernel makes them in this call or, in a burst of calls, less than 200 microseconds
     *  before. In a simulation they follow from its seed. */
    virtual void random_bytes(std::span<std::byte> bytes) = 0;

    /** The user's executor: where handlers without an executor of their own run. */
    [[nodiscard]] virtual boost::asio::any_io_executor const& user_executor() const noexcept = 0;

    /** The strand on which engine and backend run. */
    [[nodiscard]] virtual Strand const& strand() const noexcept = 0;

    /** The executor below the strand, for sockets: the user's, or that of the store's own thread. */
    [[nodiscard]] boost::asio::any_io_executor const& io_executor() const noexcept
    {
        return strand().get_inner_executor();
    }

    /** True: the strand runs on a thread of the store (`StoreOptions::own_thread`), where no handler of a user runs. */
    [[nodiscard]] virtual bool has_own_thread() const noexcept { return false; }

    /** Runs the task on the strand, after the caller has returned. */
    virtual void post(Task task) = 0;

    /** Runs the task on the strand at `when` or soon after, never before and never inside this call. A pending timer
     * counts as work of the executor. */
    virtual TimerId call_at(Instant when, Task task) = 0;

    /** Cancels a pending timer; unknown ids and 0 are ignored. */
    virtual void cancel(TimerId id) noexcept = 0;

    /** Whether lines of this level reach a sink: ask before you compose a costly line. */
    [[nodiscard]] virtual bool logs(LogLevel level) const noexcept = 0;
    /** Hands a line to the log. Never blocks, and never contains a secret. */
    virtual void log(LogLevel level, std::string_view line) const noexcept = 0;
};

/** The runtime of a program, for your own store: `Store{runtime, backend, options}`. Timers run on the executor, time
 * is `Clock`, random numbers are the system's.
 *
 *  A runtime belongs to one store. Its executor's context must outlive it.
 *
 *  @param options  the same as the store's. Log lines go to `StoreOptions::log`, from `log_level` up
 *  @par Thread safety  Safe from any thread.
 */
[[nodiscard]] TENURE_API std::shared_ptr<Runtime>
make_runtime(boost::asio::any_io_executor executor, StoreOptions const& options);

/** Overload with default `StoreOptions`. */
[[nodiscard]] TENURE_API std::shared_ptr<Runtime> make_runtime(boost::asio::any_io_executor executor);

/** Overload that takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(Context& context, StoreOptions const& options)
{
    return make_runtime(context.get_executor(), options);
}

} // namespace tenure::backend
