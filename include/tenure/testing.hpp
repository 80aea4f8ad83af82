// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <string>
#include <utility>

/** For tests of code that uses tenure: virtual time and a store that fails on demand, so that a test can lose a lease
 * within a millisecond. Link `tenure::testing`. */
namespace tenure::testing
{

/** Virtual time that only the test advances, and an execution context for the code under test. The same calls always
 * give the same run.
 *
 *  Asio's own timers do not use it: code under test waits by `async_wait_for`.
 *
 *  @par Thread safety  One thread only.
 *  @par Object lifetime  Outlives the stores and leases that were made with it. */
class VirtualTime : public boost::asio::execution_context
{
public:
    VirtualTime();
    VirtualTime(VirtualTime const&) = delete;
    VirtualTime& operator=(VirtualTime const&) = delete;
    ~VirtualTime();

    /** The executor for stores and code under test. */
    [[nodiscard]] boost::asio::any_io_executor get_executor() noexcept;
    /** The present virtual instant. */
    [[nodiscard]] Instant now() const noexcept;

    /** Runs all ready handlers, including those that become ready meanwhile; no time passes. */
    void run_ready();
    /** Advances time, and runs each timer on the way. Exceptions of handlers are passed on. */
    void run_for(Clock::duration duration);
    /** Advances time without running anything: simulates a paused process or a blocked event loop. */
    void skip(Clock::duration duration) noexcept;

    /** Waits for virtual time to pass.
     *
     *  @par Completion signature  void(error_code)
     *  @par Errors  asio::error::operation_aborted: cancelled by the caller
     *  @par Per-operation cancellation  terminal, partial, total
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_wait_for(Clock::duration duration, CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code), &start_wait, &executor_of>(
            this, std::forward<CompletionToken>(completion), duration);
    }

    /** The implementation, for stores. */
    struct State;
    /** The implementation, for stores. */
    [[nodiscard]] std::shared_ptr<State> const& state() const noexcept { return state_; }

private:
    using WaitHandler = boost::asio::any_completion_handler<void(error_code)>;
    [[nodiscard]] static boost::asio::any_io_executor executor_of(VirtualTime* time) { return time->get_executor(); }
    static void start_wait(VirtualTime* time, Clock::duration duration, WaitHandler handler);

    std::shared_ptr<State> state_;
};

/** A store in virtual time that fails on demand. Copies are the same store.
 *
 *  @par Thread safety  One thread only, as VirtualTime. */
class SimulatedStore
{
public:
    /** An empty store. Everything that is opened from it shares its keys. */
    explicit SimulatedStore(VirtualTime& time);

    /** Opens the store: each opened store simulates a separate process. */
    [[nodiscard]] Store open(std::string worker_name = "test");

    /** Sets the delay of answers; initially zero. */
    void answer_after(Clock::duration delay);
    /** False: requests do not reach the store and fail at once. */
    void set_reachable(bool reachable);
    /** True: requests take effect, and their answers are lost. */
    void set_answers_lost(bool lost);

    /** Simulates the deletion of the key by another client: its holder loses the lease at the next renewal. */
    void remove(std::string const& key);
    /** Simulates another client that takes the key for `ttl`. */
    void overwrite(std::string const& key, std::chrono::milliseconds ttl);
    /** Whether the key is taken: held, resting, kept, evicted or overwritten. */
    [[nodiscard]] bool held(std::string const& key) const;

    struct State;

private:
    std::shared_ptr<State> state_;
};

} // namespace tenure::testing
