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
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace tenure
{

namespace asio = boost::asio;

struct StoreOptions;

/** Work that runs later, once; move-only. */
using Task = OneShot<void()>;

/** What the engine and the stores get from outside: time, timers, randomness, a place to run, a log.
 *
 *  A store built by `connect` uses a runtime over the user's executor; a simulation hands in one of its own, with a
 *  virtual clock, and drives the very same code.
 *
 *  @par Thread safety  `now`, `wall_clock`, `executor`, `strand` and `post` are safe from any thread; the rest belongs
 * to the strand, or to who makes a store while nothing runs there yet.
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
    [[nodiscard]] virtual asio::any_io_executor const& executor() const noexcept = 0;

    /** The strand on which engine and backend run. */
    [[nodiscard]] virtual Strand const& strand() const noexcept = 0;

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

/** The runtime of a program, for a store of one's own: `Store{runtime, backend, options}`. Timers run on the executor,
 * time is `Clock`, random numbers are the system's.
 *
 *  A runtime belongs to one store. Its executor's context must outlive it.
 *
 *  @param options  those that the store is given as well. Its log lines go to `StoreOptions::log`, from `log_level` on
 *  @par Thread safety  Safe from any thread.
 */
[[nodiscard]] TENURE_API std::shared_ptr<Runtime>
make_runtime(asio::any_io_executor executor, StoreOptions const& options);

/** The same with the defaults of `StoreOptions`. */
[[nodiscard]] TENURE_API std::shared_ptr<Runtime> make_runtime(asio::any_io_executor executor);

/** The same on the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(Context& context, StoreOptions const& options)
{
    return make_runtime(context.get_executor(), options);
}
template <detail::ExecutionContext Context>
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(Context& context)
{
    return make_runtime(context.get_executor());
}

} // namespace tenure
