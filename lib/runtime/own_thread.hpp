// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "context_guard.hpp"
#include "fork_guard.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/backend/strand.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/require.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tenure
{

class OwnThread;

/** Halts the threads of stores at the end of the program. Stores without users first get a moment to give back their
 *  keys. Afterwards no thread runs that could touch objects which are destroyed after `main`. Thread-safe. */
class RunningThreads
{
public:
    using Number = std::uint64_t;

    /** Use `OnePerProcess`. */
    RunningThreads();

    /** Adds a thread that begins. */
    [[nodiscard]] Number add(std::weak_ptr<OwnThread> thread);
    /** Removes a thread that has ended. */
    void remove(Number number) noexcept;

    /** Call it at the end of the program. */
    void end() noexcept;

private:
    [[nodiscard]] std::vector<std::weak_ptr<OwnThread>> all() const;

    mutable std::mutex mutex_;
    // -- under the mutex --
    /// a thread has ended
    std::condition_variable ended_;
    std::map<Number, std::weak_ptr<OwnThread>> threads_;
    Number last_ = 0;
    std::uint64_t removed_ = 0;
};

namespace asio = boost::asio;

/** The thread and event loop of a store that does not run on its user's executor.
 *
 *  The thread runs while the tenant is open or work is pending, and keeps both alive; later work starts another thread.
 *  It is detached, so its end is never awaited. But the thread is halted before users destroy objects that it may
 *  touch: when their execution context is destroyed, and for a moment when the program ends. In a fork of the process,
 *  which lacks the thread, nothing here is touched or destroyed. */
class OwnThread final : public ContextUser, public std::enable_shared_from_this<OwnThread>
{
public:
    /** The object that the thread works for. */
    class Tenant
    {
    public:
        /** True while public objects use it. Any thread. */
        [[nodiscard]] virtual bool has_users() const noexcept = 0;
        /** Drops the handlers of operations that continue without users. False: other work is pending. Called, like
         *  `abandon`, while the thread is halted. */
        [[nodiscard]] virtual bool forget_callers() noexcept = 0;
        /** Drops everything without calling handlers. */
        virtual void abandon() noexcept = 0;
        /** A function that ran on the thread has thrown. */
        virtual void failed(std::exception_ptr failure) noexcept = 0;

    protected:
        ~Tenant() = default;
    };

    /** @param user_executor  runs the tenant's handlers, never on this thread */
    [[nodiscard]] static std::shared_ptr<OwnThread> make(asio::any_io_executor user_executor);

    /** Use `make`. */
    explicit OwnThread(asio::any_io_executor user_executor);
    OwnThread(OwnThread const&) = delete;
    OwnThread& operator=(OwnThread const&) = delete;
    virtual ~OwnThread() = default;

    /** Starts the thread, which runs until `let_go`.
     *  @throws std::system_error */
    void serve(std::weak_ptr<Tenant> tenant);
    /** The thread ends when no work is pending. */
    void let_go() noexcept;

    // -- any thread --

    /** The strand of the thread. */
    [[nodiscard]] Strand const& strand() const noexcept { return *strand_; }
    /** The users' executor; empty after their context was destroyed. */
    [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept;
    [[nodiscard]] asio::any_io_executor const& io_executor() const noexcept { return io_executor_; }
    [[nodiscard]] bool is_let_go() const noexcept { return let_go_.load(std::memory_order_acquire); }

    /** Runs the function on the thread, after the caller has returned; destroys it uncalled if the context of the
     *  users was destroyed.
     *  @throws std::system_error if no thread can be started */
    template <class Function>
    void execute(Function function)
    {
        Handover const handover(*this);
        if (handover.accepted())
            asio::require(loop_.get_executor(), asio::execution::blocking_t::never).execute(std::move(function));
    }

    void context_ends() noexcept override;

    // -- for the end of the program --

    /** True if the tenant has no users: it gives back the remaining keys, and the thread ends. */
    [[nodiscard]] bool is_ending() const noexcept;
    /** Stops the thread for good, at the deadline at the latest. */
    void freeze(std::chrono::steady_clock::time_point deadline) noexcept;

private:
    class Loop final : public asio::io_context
    {
    public:
        Loop()
            : io_context(1)
        {
        }
        /** Destroys functions that have not run. Its objects may still be destroyed. */
        void discard() { shutdown(); }
    };

    /** Exists while a function is handed over: the thread does not end before it has seen it. */
    class Handover
    {
    public:
        explicit Handover(OwnThread& thread);
        [[nodiscard]] bool accepted() const noexcept { return accepted_; }

    private:
        std::unique_lock<std::mutex> lock_;
        bool accepted_;
    };

    [[nodiscard]] bool runs_here() const noexcept { return loop_.get_executor().running_in_this_thread(); }
    /** Starts a thread unless there is one. Requires the mutex. */
    void start();
    static void run(std::shared_ptr<OwnThread> self) noexcept;
    /** Locks the mutex, which the caller must not hold: the last owner of a tenant may destroy it. */
    [[nodiscard]] std::shared_ptr<Tenant> tenant() const noexcept;
    /** @returns false if the thread ends */
    [[nodiscard]] bool turn() noexcept;
    /** Returns when the thread is halted, after functions that were handed over before; false if it could not be
     *  halted. */
    [[nodiscard]] bool halt() noexcept;
    void go_on() noexcept;
    /** Drops all objects of the users, while the thread is halted. */
    void forget_users() noexcept;

    mutable Loop loop_;
    asio::any_io_executor const io_executor_;
    ForkMark const fork_mark_;
    /// set once, by `make`
    std::optional<Strand> strand_;
    /// empty after the context of the users was destroyed
    asio::any_io_executor user_executor_;
    std::atomic<bool> users_gone_{false};
    /// no further function runs here
    std::atomic<bool> dead_{false};
    std::atomic<bool> let_go_{false};

    mutable std::mutex mutex_;
    // -- under the mutex --
    /// the thread was halted, resumed, or has ended
    std::condition_variable changed_;
    std::weak_ptr<Tenant> tenant_;
    /// until `let_go`
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
    /// there is a thread
    bool running_ = false;
    /// it is halted
    bool still_ = false;
    /// a halt was requested: the context of the users is being destroyed
    bool halts_ = false;
    /// a permanent halt was requested: the program ends
    bool frozen_ = false;
    std::uint64_t handed_over_ = 0;
    /// number of functions handed over when the halt was requested
    std::uint64_t handed_over_before_ = 0;
};

/** A runtime that may have a thread of its own. */
class ThreadRuntime : public Runtime
{
public:
    /** Null: it runs on the user's executor. */
    [[nodiscard]] virtual OwnThread* own_thread() const noexcept = 0;
    [[nodiscard]] bool has_own_thread() const noexcept final { return own_thread() != nullptr; }
};

/** The thread of a runtime; null if it has none. */
[[nodiscard]] inline OwnThread* own_thread_of(Runtime const& runtime) noexcept
{
    auto const* const may_have_one = dynamic_cast<ThreadRuntime const*>(&runtime);
    return may_have_one != nullptr ? may_have_one->own_thread() : nullptr;
}

} // namespace tenure
