// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Queue of log lines, and its thread.
#include "log_queue.hpp"

#include "library_thread.hpp"
#include "one_per_process.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenure
{

namespace
{

/// further lines are dropped until the log thread has taken the queue
constexpr std::size_t longest_queue = 1000;
/// events leave room for log lines, which may say that a lease is lost
constexpr std::size_t longest_queue_for_events = 900;
/// how long the end of the program waits for a sink that blocks
constexpr std::chrono::seconds patience_at_exit{1};
/// how long a fork waits for a sink that blocks
constexpr std::chrono::milliseconds patience_at_fork{100};

/** Owned by the log thread while it is inside a sink or hook. A fork takes it first: a mutex of the sink would
 * otherwise stay locked in the child, whose lines would wait for it. Never destroyed, because the program may fork
 * while it ends. */
class SinkInUse
{
public:
    SinkInUse() = default;

    /** Calls a sink or hook. Log thread. */
    template <class Call>
    void hold_over(Call call) noexcept
    {
        std::lock_guard const lock(mutex_);
        inside_ = true;
        try {
            call();
        } catch (...) { // NOLINT(bugprone-empty-catch): there is no other place to report it
        }
        inside_ = false;
    }

    void before_fork() noexcept { held_ = !inside_ && mutex_.try_lock_for(patience_at_fork); }
    void after_fork() noexcept
    {
        if (held_)
            mutex_.unlock();
    }
    void begin_child() noexcept
    {
        if (held_)
            mutex_.unlock();
        else if (!inside_)
            std::construct_at(&mutex_); // its owner is a thread that the child does not have
    }

private:
    std::timed_mutex mutex_;
    /// by the thread that forks; read only by it
    inline static thread_local bool held_ = false;
    /// this thread is the log thread, in a sink or hook that may fork
    inline static thread_local bool inside_ = false;
};

SinkInUse& sink_in_use()
{
    static auto* const in_use = [] {
        auto* const made = new SinkInUse;
        ::pthread_atfork(
            [] { sink_in_use().before_fork(); }, [] { sink_in_use().after_fork(); },
            [] { sink_in_use().begin_child(); });
        return made;
    }();
    return *in_use;
}

using SinkPtr = std::shared_ptr<LogSink const>;

/** Queue of the lines and events of all stores of a process, and the thread that passes them to their sinks and hooks.
 *  The thread starts with the first one. */
class LogQueue
{
public:
    LogQueue() { sink_in_use(); }

    void add(SinkPtr const& sink, LogLevel level, std::string_view line)
    {
        std::lock_guard const lock(mutex_);
        if (ending_)
            return;
        if (is_full())
            count_drop(sink);
        else
            append([sink, level, text = std::string(line)] { (*sink)(level, text); });
    }

    [[nodiscard]] bool add(OneShot<void()> task)
    {
        std::lock_guard const lock(mutex_);
        if (ending_ || tasks_.size() >= longest_queue_for_events)
            return false;
        append(std::move(task));
        return true;
    }

    [[nodiscard]] bool flush(std::chrono::milliseconds limit)
    {
        std::unique_lock lock(mutex_);
        return thread_.get_id() != std::this_thread::get_id() &&
               changed_.wait_for(lock, limit, [this, end = added_] { return handled_ >= end; });
    }

    /** Passes on the queued lines; a thread that does not end in time is abandoned. */
    void end()
    {
        std::unique_lock lock(mutex_);
        if (!thread_.joinable())
            return;
        ending_ = true;
        changed_.notify_all();
        bool const ended = changed_.wait_for(lock, patience_at_exit, [this] { return ended_; });
        lock.unlock();
        if (ended)
            thread_.join();
        else
            thread_.detach();
    }

private:
    struct Drops {
        SinkPtr sink;
        std::uint64_t count;
    };

    [[nodiscard]] bool is_full() const noexcept { return tasks_.size() >= longest_queue; }

    void append(OneShot<void()> task)
    {
        if (!thread_.joinable())
            thread_ = start_library_thread("tenure-log", [this] { run(); });
        tasks_.push_back(std::move(task));
        ++added_;
        changed_.notify_all();
    }

    void count_drop(SinkPtr const& sink)
    {
        auto const drops = std::ranges::find(drops_, sink, &Drops::sink);
        if (drops != drops_.end())
            ++drops->count;
        else
            drops_.push_back({sink, 1});
    }

    void run()
    {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return !tasks_.empty() || ending_; });
            if (tasks_.empty())
                break;
            auto tasks = std::exchange(tasks_, {});
            auto drops = std::exchange(drops_, {});
            lock.unlock();
            for (auto& task : tasks)
                sink_in_use().hold_over(std::move(task));
            // these were dropped after the lines above, and before any later line
            for (auto const& [sink, count] : drops)
                sink_in_use().hold_over([&] {
                    (*sink)(
                        LogLevel::warning,
                        std::to_string(count) + " messages dropped: the log thread did not take them in time");
                });
            // the last owner of a sink destroys it, which runs the user's code
            drops.clear();
            lock.lock();
            handled_ += tasks.size();
            changed_.notify_all();
        }
        ended_ = true;
        changed_.notify_all();
    }

    std::mutex mutex_;
    // -- under the mutex --
    /// lines were queued or passed on, or the program ends
    std::condition_variable changed_;
    /// lines and events
    std::vector<OneShot<void()>> tasks_;
    /// since the log thread last took the tasks
    std::vector<Drops> drops_;
    /// number of tasks ever queued, and of those that have run
    std::uint64_t added_ = 0;
    std::uint64_t handled_ = 0;
    bool ending_ = false;
    /// the log thread has finished its last access
    bool ended_ = false;
    std::thread thread_;
};

/// its thread may be inside a sink when the program ends; a child of fork has no log thread
using TheLogQueue = OnePerProcess<LogQueue>;

} // namespace

LogSink queued(LogSink sink)
{
    return [sink = std::make_shared<LogSink const>(std::move(sink))](LogLevel level, std::string_view line) {
        TheLogQueue::instance().add(sink, level, line);
    };
}

bool run_on_log_thread(OneShot<void()> task)
{
    return TheLogQueue::instance().add(std::move(task));
}

bool flush_log(std::chrono::milliseconds limit)
{
    auto* const queue = TheLogQueue::existing();
    return queue == nullptr || queue->flush(limit);
}

} // namespace tenure
