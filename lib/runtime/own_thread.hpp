// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "context_guard.hpp"
#include "fork_guard.hpp"

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

namespace tenure::engine
{

class OwnThread;

/** The threads of this process that belong to stores, for the end of the program. Stores that nobody uses any more then
 * have a moment to give back what was held; after that the threads stand still, so that none of them touches what is
 * destroyed after `main`. Thread-safe. */
class RunningThreads
{
public:
    using Number = std::uint64_t;

    /** The one of this process: a child of fork gets another. Never deleted, because threads may outlive all else. */
    [[nodiscard]] static RunningThreads& instance();
    /** The same, if there ever was a thread. */
    [[nodiscard]] static RunningThreads* existing() noexcept;

    /** A thread begins. */
    [[nodiscard]] Number add(std::weak_ptr<OwnThread> thread);
    /** It has ended, and touches nothing any more. */
    void remove(Number number) noexcept;

    /** For the end of the program. */
    void end() noexcept;

private:
    [[nodiscard]] std::vector<std::weak_ptr<OwnThread>> all() const;

    std::uint64_t const fork_generation_ = fork_generation();
    mutable std::mutex mutex_;
    // -- under the mutex --
    /// a thread has ended
    std::condition_variable ended_;
    std::map<Number, std::weak_ptr<OwnThread>> threads_;
    Number last_ = 0;
    std::uint64_t removed_ = 0;
};

namespace asio = boost::asio;

/** The thread of a store that does not run on its user's executor, with the loop that it turns.
 *
 *  The thread is there while the tenant is open or anything is under way, and keeps both alive; what is handed over
 * later starts another one. It is detached: nobody ever waits for its end. But where users have to let go of something
 * that the thread may touch, they wait until it stands still: as their execution context is destroyed, and for a moment
 * as the program ends. In a fork of the process, where the thread is not, nothing here is touched or destroyed.
 */
class OwnThread final : public ContextUser, public std::enable_shared_from_this<OwnThread>
{
public:
    /** What the thread works for. */
    class Tenant
    {
    public:
        /** Public objects use it. Any thread. */
        [[nodiscard]] virtual bool has_users() const noexcept = 0;
        /** Drops the handlers of what goes on without users. False: there is more under way than that.
         * While the thread stands still, as the next one. */
        [[nodiscard]] virtual bool forget_callers() noexcept = 0;
        /** Drops everything without calling anybody. */
        virtual void abandon() noexcept = 0;
        /** Something that it did on the thread has thrown. */
        virtual void failed(std::exception_ptr failure) noexcept = 0;

    protected:
        ~Tenant() = default;
    };

    /** @param user_executor  where the tenant's handlers run, never on this thread */
    [[nodiscard]] static std::shared_ptr<OwnThread> make(asio::any_io_executor user_executor);

    /** Use `make`. */
    explicit OwnThread(asio::any_io_executor user_executor);
    OwnThread(OwnThread const&) = delete;
    OwnThread& operator=(OwnThread const&) = delete;
    ~OwnThread() = default;

    /** Starts the thread, which goes on until `let_go`. @throws std::system_error */
    void serve(std::weak_ptr<Tenant> tenant);
    /** The thread ends when nothing is under way any more. */
    void let_go() noexcept;

    // -- any thread --

    /** The one that the thread runs. */
    [[nodiscard]] Strand const& strand() const noexcept { return *strand_; }
    /** Of the users; of nobody once their context is gone. */
    [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept;
    [[nodiscard]] asio::any_io_executor const& io_executor() const noexcept { return io_executor_; }
    [[nodiscard]] bool is_let_go() const noexcept { return let_go_.load(std::memory_order_acquire); }

    /** Runs the function on the thread, after the caller has returned; destroys it uncalled once the context of the
     * users is gone. @throws std::system_error if no thread can be started */
    template <class Function>
    void execute(Function function)
    {
        Handover const handover(*this);
        if (handover.accepted())
            asio::require(loop_.get_executor(), asio::execution::blocking_t::never).execute(std::move(function));
    }

    void context_ends() noexcept override;

    // -- for what ends the program --

    /** Nobody uses the tenant any more: it gives back what is left, and the thread ends. */
    [[nodiscard]] bool is_ending() const noexcept;
    /** The thread stops for good wherever it is, by then at the latest. */
    void freeze(std::chrono::steady_clock::time_point deadline) noexcept;

private:
    class Loop final : public asio::io_context
    {
    public:
        Loop()
            : io_context(1)
        {
        }
        /** Destroys what has not run. Its objects may still be destroyed. */
        void discard() { shutdown(); }
    };

    /** While one thing is handed over: the thread does not end without having seen it. */
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
    /** Unless there is one. With the mutex held. */
    void start();
    static void run(std::shared_ptr<OwnThread> self) noexcept;
    /** False: the thread ends. */
    [[nodiscard]] bool turn() noexcept;
    /** Returns when the thread stands still, after what was handed over before; false if it cannot be had to. */
    [[nodiscard]] bool halt() noexcept;
    void go_on() noexcept;
    /** While the thread stands still: nothing of the users is left here. */
    void forget_users() noexcept;

    mutable Loop loop_;
    asio::any_io_executor const io_executor_;
    std::uint64_t const fork_generation_ = fork_generation();
    /// set once, by `make`
    std::optional<Strand> strand_;
    /// empty once the context of the users is gone
    asio::any_io_executor user_executor_;
    std::atomic<bool> users_gone_{false};
    /// nothing runs here any more
    std::atomic<bool> dead_{false};
    std::atomic<bool> let_go_{false};

    mutable std::mutex mutex_;
    // -- under the mutex --
    /// the thread stands still, goes on, or has ended
    std::condition_variable changed_;
    std::weak_ptr<Tenant> tenant_;
    /// until `let_go`
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
    /// there is a thread
    bool running_ = false;
    /// it stands still
    bool still_ = false;
    /// it is to: the context of the users is being destroyed
    bool halts_ = false;
    /// it is to, for good: the program ends
    bool frozen_ = false;
    std::uint64_t handed_over_ = 0;
    /// when it was to stand still
    std::uint64_t handed_over_before_ = 0;
};

} // namespace tenure::engine
