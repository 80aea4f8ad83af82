// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Strand: runs functions one at a time on an executor or a store's thread.
#include <tenure/backend/strand.hpp>

#include "fork_guard.hpp"
#include "own_thread.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenure
{

/** State of a strand. The thread that replaces a null `newest_` owns the strand, and must leave it: by a turn that
 *  ends, or by a drain that is posted to the executor. */
class Strand::State
{
public:
    explicit State(asio::any_io_executor const& executor, std::shared_ptr<OwnThread> const& thread = nullptr)
        : executor_(executor)
        , loop_(blocking_loop(executor_))
        , never_blocking_(asio::require(executor_, asio::execution::blocking_t::never))
        , has_thread_(thread != nullptr)
        , thread_(thread)
    {
    }

    /** True in a fork of the process that made it, where nothing may run. */
    [[nodiscard]] bool forked() const noexcept { return fork_mark_.forked(); }

    /** True if the executor would run functions at once, known without a call of it. */
    [[nodiscard]] bool runs_here() const noexcept { return loop_ != nullptr && loop_->running_in_this_thread(); }

    [[nodiscard]] asio::any_io_executor const& executor() const noexcept { return executor_; }

    /** Runs the drain on the executor, or on the thread below. */
    template <class Drain>
    void hand_over(Drain drain, bool never_blocks) const
    {
        if (!has_thread_)
            (never_blocks ? never_blocking_ : executor_).execute(std::move(drain));
        else if (auto const thread = thread_.lock())
            thread->execute(std::move(drain));
    }

    /** Enters the strand if it is free. */
    [[nodiscard]] bool try_enter() noexcept
    {
        Waiting* free = nullptr;
        return newest_.compare_exchange_strong(free, &sentinel, std::memory_order_acquire, std::memory_order_relaxed);
    }

    /** @returns true if the strand was free, and the caller owns it now */
    [[nodiscard]] bool enqueue(WaitingPtr function) noexcept
    {
        auto* const waiting = function.release();
        auto* before = newest_.load(std::memory_order_relaxed);
        do
            waiting->next_ = before == &sentinel ? nullptr : before;
        while (!newest_.compare_exchange_weak(before, waiting, std::memory_order_acq_rel, std::memory_order_relaxed));
        return before == nullptr;
    }

    // -- for the owner of the strand --

    /** Runs the waiting functions. Later ones wait for the next turn of the loop, which serves others as well. */
    void run_waiting()
    {
        if (oldest_ == nullptr)
            collect();
        // a function may fork, and the child must not run the others
        while (auto const oldest = forked() ? nullptr : take_oldest())
            oldest->run();
    }

    /** @returns false if functions wait: the caller still owns the strand */
    [[nodiscard]] bool try_leave() noexcept
    {
        Waiting* expected = &sentinel;
        return oldest_ == nullptr &&
               newest_.compare_exchange_strong(expected, nullptr, std::memory_order_release, std::memory_order_relaxed);
    }

    /** Leaves without running functions. Destroyed ones may enqueue more. */
    void discard() noexcept
    {
        do {
            if (oldest_ == nullptr)
                collect();
            while (take_oldest()) {
            }
        } while (!try_leave());
    }

private:
    /** Never runs. */
    class Sentinel final : public Waiting
    {
        void run() override {}
    };
    /// in `newest_`: the strand is running and its queue is empty
    static constinit Sentinel sentinel;

    /** Null if that executor never runs a function at once. */
    static asio::io_context::executor_type const* blocking_loop(asio::any_io_executor const& executor) noexcept
    {
        auto const* const loop = executor.target<asio::io_context::executor_type>();
        bool const never_blocks =
            loop != nullptr && asio::query(*loop, asio::execution::blocking) == asio::execution::blocking_t::never;
        return never_blocks ? nullptr : loop;
    }

    void collect() noexcept
    {
        auto* next = newest_.exchange(&sentinel, std::memory_order_acquire);
        while (next != nullptr && next != &sentinel) {
            auto* const waiting = std::exchange(next, next->next_);
            waiting->next_ = std::exchange(oldest_, waiting);
        }
    }

    [[nodiscard]] WaitingPtr take_oldest() noexcept
    {
        WaitingPtr oldest(oldest_);
        if (oldest != nullptr)
            oldest_ = oldest->next_;
        return oldest;
    }

    asio::any_io_executor const executor_;
    /// inside `executor_`, if that is an io_context's with blocking allowed, as nearly all are
    asio::io_context::executor_type const* const loop_;
    asio::any_io_executor const never_blocking_;
    bool const has_thread_;
    /// thread of the store; it runs `executor_`, and owns the strand
    std::weak_ptr<OwnThread> const thread_;
    ForkMark fork_mark_;
    /// null: the strand is free. Each function points to the previous one
    std::atomic<Waiting*> newest_{nullptr};
    /// the functions of this turn, in the order of their arrival
    Waiting* oldest_ = nullptr;
};

constinit Strand::State::Sentinel Strand::State::sentinel;

/** On the stack, while this thread is in the strand. */
class Strand::Turn
{
public:
    /** Begins if allowed: this thread is in the strand already, or the strand is idle and the executor may run
     * functions inline. */
    explicit Turn(Strand const& strand);
    /** This thread owns the strand already, to run its queue. */
    struct Owned {
    };
    Turn(StatePtr const& state, Owned) noexcept;
    Turn(Turn const&) = delete;
    Turn& operator=(Turn const&) = delete;
    ~Turn();

    [[nodiscard]] bool begun() const noexcept { return begun_; }
    [[nodiscard]] static bool is_in(State const& state) noexcept;

private:
    void begin(StatePtr const& state) noexcept;

    static thread_local Turn* innermost;

    /// null within another turn on the same strand; the outer turn leaves the strand
    StatePtr state_;
    Turn* outer_ = nullptr;
    bool begun_ = false;
};

/** The posted function that runs the strand. */
class Strand::Drain
{
public:
    explicit Drain(StatePtr state) noexcept
        : state_(std::move(state))
    {
    }
    Drain(Drain const&) = delete;
    Drain(Drain&&) noexcept = default;
    Drain& operator=(Drain const&) = delete;
    Drain& operator=(Drain&&) = delete;
    ~Drain()
    {
        if (state_ != nullptr)
            state_->discard();
    }

    void operator()()
    {
        auto const state = std::move(state_);
        if (state->forked()) {
            state->discard();
            return;
        }
        Turn const turn(state, Turn::Owned{});
        state->run_waiting();
    }

private:
    StatePtr state_;
};

constinit thread_local Strand::Turn* Strand::Turn::innermost = nullptr;

bool Strand::Turn::is_in(State const& state) noexcept
{
    for (auto const* turn = innermost; turn != nullptr; turn = turn->outer_)
        if (turn->state_.get() == &state)
            return true;
    return false;
}

Strand::Turn::Turn(Strand const& strand)
{
    if (is_in(*strand.state_))
        begun_ = true;
    else if (strand.state_->runs_here() && !strand.state_->forked() && strand.state_->try_enter())
        begin(strand.state_);
}

Strand::Turn::Turn(StatePtr const& state, Owned) noexcept
{
    begin(state);
}

void Strand::Turn::begin(StatePtr const& state) noexcept
{
    begun_ = true;
    state_ = state;
    outer_ = std::exchange(innermost, this);
}

Strand::Turn::~Turn()
{
    if (state_ == nullptr)
        return;
    innermost = outer_;
    if (!state_->try_leave())
        state_->hand_over(Drain(state_), true);
}

Strand::StatePtr Strand::make_state(asio::any_io_executor const& executor)
{
    return std::make_shared<State>(executor);
}

Strand::Strand(std::shared_ptr<OwnThread> const& thread)
    : state_(std::make_shared<State>(thread->io_executor(), thread))
{
}

bool Strand::run_here(void (*function)(void const*), void const* argument) const
{
    Turn const turn(*this);
    if (turn.begun())
        function(argument);
    return turn.begun();
}

bool Strand::running_in_this_thread() const noexcept
{
    return Turn::is_in(*state_);
}

asio::any_io_executor const& Strand::get_inner_executor() const noexcept
{
    return state_->executor();
}

asio::execution_context& Strand::query(asio::execution::context_t) const
{
    return asio::query(state_->executor(), asio::execution::context);
}

void Strand::enqueue(WaitingPtr waiting, bool never_blocks) const
{
    // the function may be the only owner of this strand, and run on another thread before this returns
    auto const state = state_;
    if (state->forked())
        return;
    if (state->enqueue(std::move(waiting)))
        state->hand_over(Drain(state), never_blocks);
}

} // namespace tenure
