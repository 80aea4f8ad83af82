// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/tenure.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::teardown
{

namespace asio = boost::asio;

/** How a round ends for everybody in it. */
enum class End {
    /// all let go, and the context runs out of work by itself
    let_go,
    /// the context is stopped and destroyed with all that is under way
    stop,
    /// user code throws out of a handler and out of `run`; the thread then runs the context again
    throw_out,
    /// the process forks; the child touches everything and ends, the parent goes on
    fork_off
};

/** A small generator of its own for each actor. */
class Random
{
public:
    explicit Random(std::uint64_t seed)
        : state_(seed)
    {
    }
    /** 0 .. limit - 1 */
    [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return next() % limit; }
    [[nodiscard]] std::uint64_t next()
    {
        state_ += 0x9e3779b97f4a7c15U;
        auto mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31U);
    }

private:
    std::uint64_t state_;
};

/** The exception of user code. */
struct Thrown : std::runtime_error {
    Thrown()
        : runtime_error("thrown by a user")
    {
    }
};

/** A fault of the library; ends the program. */
struct Violation : std::logic_error {
    using logic_error::logic_error;
};

struct Plan {
    std::string url;
    std::uint64_t seed = 0;
    std::string prefix;
    End end = End::let_go;
    unsigned threads = 1;
    bool thread_pool = false;
    unsigned actors = 0;
    /// stores have threads of their own
    bool own_thread = false;
    /// the await point, counted over all actors, at which the end comes
    std::uint64_t end_at = 0;

    static constexpr std::uint32_t slots = 3;
};

/** The state that the actors of one round share. */
class Round
{
public:
    explicit Round(Plan plan)
        : plan_(std::move(plan))
    {
    }

    [[nodiscard]] Plan const& plan() const noexcept { return plan_; }
    [[nodiscard]] StoreOptions store_options() const
    {
        StoreOptions options;
        options.log = silent_log_sink();
        options.own_thread = plan_.own_thread;
        return options;
    }
    [[nodiscard]] SlotPool pool(Store const& store) const
    {
        return SlotPool{store, {.prefix = plan_.prefix, .size = Plan::slots, .ttl = std::chrono::seconds{20}}};
    }

    /** True for exactly one await point of the round. */
    [[nodiscard]] bool is_the_end() { return ++points_ == plan_.end_at; }
    [[nodiscard]] bool ended() const noexcept { return points_ >= plan_.end_at; }

    /** A holder of a slot comes; there must be no other. */
    void enter(std::uint32_t slot)
    {
        if (holders_.at(slot).exchange(true))
            fail("two holders of one slot");
    }
    /** Before it gives the slot back. */
    void leave(std::uint32_t slot) { holders_.at(slot) = false; }

    /** Puts a lease aside until the actors have left. */
    void keep(Slot slot)
    {
        std::lock_guard const lock(mutex_);
        if (left_ < plan_.actors)
            kept_.push_back(std::move(slot));
    }
    /** The last one takes along what was put aside: a lease that is kept would keep its store open. */
    void actor_left()
    {
        std::unique_lock lock(mutex_);
        if (++left_ < plan_.actors)
            return;
        auto const kept = std::exchange(kept_, {});
        lock.unlock();
    }
    [[nodiscard]] std::vector<Slot> take_kept()
    {
        std::lock_guard const lock(mutex_);
        return std::exchange(kept_, {});
    }

    /** The first thing that was wrong is what the program ends with. */
    void fail(std::string what)
    {
        std::lock_guard const lock(mutex_);
        if (failure_.empty())
            failure_ = std::move(what);
    }
    void throw_failure() const
    {
        if (!failure_.empty())
            throw Violation(failure_);
    }

    /// operations begun with a handler, handlers called, and handlers and coroutines that exist now
    std::atomic<std::uint64_t> begun = 0;
    std::atomic<std::uint64_t> called = 0;
    std::atomic<std::int64_t> alive = 0;
    /// over all rounds of a program these say that it does what it is for
    std::atomic<std::uint64_t> grants = 0;
    std::atomic<std::uint64_t> cancelled = 0;

private:
    Plan plan_;
    std::atomic<std::uint64_t> points_ = 0;
    std::array<std::atomic<bool>, Plan::slots> holders_{};
    std::mutex mutex_;
    std::vector<Slot> kept_;
    unsigned left_ = 0;
    std::string failure_;
};

/** Counts the handlers and coroutines that exist. */
class Alive
{
public:
    explicit Alive(Round& round)
        : round_(&round)
    {
        ++round_->alive;
    }
    Alive(Alive const& other)
        : round_(other.round_)
    {
        ++round_->alive;
    }
    Alive& operator=(Alive const&) = delete;
    ~Alive() { --round_->alive; }

private:
    Round* round_;
};

/** Called at the one await point at which a round ends. */
using EndOfRound = void (*)(asio::execution_context& context, Round& round, Store const& store);

/** One user of the store: does one thing after the other, whatever comes, until the round has ended. */
[[nodiscard]] asio::awaitable<void>
act(asio::execution_context& context, Round& round, Store store, std::uint64_t seed, EndOfRound end);

} // namespace tenure::teardown
