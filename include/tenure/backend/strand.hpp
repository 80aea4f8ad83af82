// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/one_shot.hpp>
#include <tenure/detail/api.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace tenure
{
class OwnThread;
}

namespace tenure::backend
{

/** Runs functions over an executor one at a time, in the order of their arrival: an Asio executor with the guarantees
 * of `asio::strand`.
 *
 *  A store enters its strand four times for one lease, and the strand is nearly always idle. An idle strand costs one
 *  atomic exchange on entry and one on exit, without allocation or type erasure, where Asio's strand takes a mutex
 *  twice and allocates an operation. A function that finds the strand busy is queued without a lock.
 *
 *  `execute` calls the function at once if this thread is in the strand, or if the strand is idle and the executor may
 *  run functions inline; the caller then gets an exception of the function. Queued functions are destroyed uncalled if
 *  the context of the executor ends, or if the executor throws instead of taking them. Exception: functions queued
 *  behind one that ran inline are handed to the executor afterwards; if the executor throws then, the program ends. In
 *  a fork of the process the strand runs nothing: functions passed to it there are destroyed uncalled.
 *
 *  @par Thread safety  All functions are safe from any thread.
 */
class TENURE_API Strand
{
public:
    /** A template, so that only an `any_io_executor` matches. */
    template <std::same_as<boost::asio::any_io_executor> Executor>
    explicit Strand(Executor const& executor)
        : state_(make_state(executor))
    {
    }

    /** For the engine: over a thread, without shared ownership of it. */
    explicit Strand(std::shared_ptr<OwnThread> const& thread);

    /** Runs the function at once if it may, else queues it. */
    template <class Function>
    void execute(Function&& function) const
    {
        auto const run = [](void const* argument) {
            auto* const given = static_cast<std::remove_reference_t<Function>*>(const_cast<void*>(argument));
            std::decay_t<Function> here(std::forward<Function>(*given));
            here();
        };
        if (never_blocks_ || !run_here(run, std::addressof(function)))
            enqueue(make_waiting(std::forward<Function>(function)), never_blocks_);
    }

    /** Runs the task after the caller has returned. */
    void post(OneShot<void()> task) const { enqueue(make_waiting(std::move(task)), true); }

    /** True if the calling thread runs a function of this strand. */
    [[nodiscard]] bool running_in_this_thread() const noexcept;

    /** The executor below the strand. */
    [[nodiscard]] boost::asio::any_io_executor const& get_inner_executor() const noexcept;

    /** For Asio: the context of the executor below. */
    [[nodiscard]] boost::asio::execution_context& query(boost::asio::execution::context_t) const;
    /** For Asio: whether `execute` may run a function inline. */
    [[nodiscard]] boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept
    {
        return never_blocks_ ? boost::asio::execution::blocking_t(boost::asio::execution::blocking_t::never)
                             : boost::asio::execution::blocking_t(boost::asio::execution::blocking_t::possibly);
    }
    /** The same strand, which never runs a function inline. */
    [[nodiscard]] Strand require(boost::asio::execution::blocking_t::never_t) const { return {state_, true}; }
    /** The same strand, which may run a function inline. */
    [[nodiscard]] Strand require(boost::asio::execution::blocking_t::possibly_t) const { return {state_, false}; }

    /** Whether both are the same strand; their blocking property is not compared. */
    [[nodiscard]] friend bool operator==(Strand const& left, Strand const& right) noexcept
    {
        return left.state_ == right.state_;
    }

private:
    class TENURE_LOCAL State;
    class TENURE_LOCAL Drain;
    class TENURE_LOCAL Turn;
    using StatePtr = std::shared_ptr<State>;

    Strand(StatePtr state, bool never_blocks) noexcept
        : state_(std::move(state))
        , never_blocks_(never_blocks)
    {
    }

    /** A queued function: one allocation holds the function and its link. */
    class Waiting
    {
    public:
        constexpr Waiting() noexcept = default;
        Waiting(Waiting const&) = delete;
        Waiting& operator=(Waiting const&) = delete;
        virtual ~Waiting() = default;
        virtual void run() = 0;

    private:
        friend State;

        Waiting* next_ = nullptr;
    };
    using WaitingPtr = std::unique_ptr<Waiting>;

    template <class Function>
    [[nodiscard]] static WaitingPtr make_waiting(Function&& function)
    {
        class Holder final : public Waiting
        {
        public:
            explicit Holder(Function&& source)
                : function_(std::forward<Function>(source))
            {
            }
            void run() override { function_(); }

        private:
            std::decay_t<Function> function_;
        };
        return std::make_unique<Holder>(std::forward<Function>(function));
    }

    [[nodiscard]] static StatePtr make_state(boost::asio::any_io_executor const& executor);
    void enqueue(WaitingPtr waiting, bool never_blocks) const;
    /** Calls the function if it may run inside this call. @returns false if it may not */
    [[nodiscard]] bool run_here(void (*function)(void const*), void const* argument) const;

    StatePtr state_;
    bool never_blocks_ = false;
};

} // namespace tenure::backend
