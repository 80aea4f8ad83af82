// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/runtime.hpp>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

/** An execution context that runs nothing by itself: a test runs what is ready, in the order in which it was posted.
 * One thread only. */
class ManualContext : public asio::execution_context
{
public:
    class Executor
    {
    public:
        explicit Executor(ManualContext& context) noexcept
            : context_(&context)
        {
        }

        template <class Function>
        void execute(Function function) const
        {
            context_->ready_.push_back(std::make_unique<WorkOf<Function>>(std::move(function)));
        }

        asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
        static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
        {
            return asio::execution::blocking_t::never;
        }
        [[nodiscard]] Executor require(asio::execution::blocking_t::never_t) const noexcept { return *this; }

        friend bool operator==(Executor const& left, Executor const& right) noexcept
        {
            return left.context_ == right.context_;
        }
        friend bool operator!=(Executor const& left, Executor const& right) noexcept { return !(left == right); }

    private:
        ManualContext* context_;
    };

    ManualContext() = default;
    ~ManualContext()
    {
        discard();
        shutdown();
        destroy();
    }

    [[nodiscard]] Executor get_executor() noexcept { return Executor(*this); }

    /** Runs the oldest ready item; false: there is none. */
    bool run_one()
    {
        if (ready_.empty())
            return false;
        auto const work = std::move(ready_.front());
        ready_.pop_front();
        work->run();
        return true;
    }

    [[nodiscard]] std::size_t ready() const noexcept { return ready_.size(); }

    /** What happens first when a context is destroyed: its services let go of everything. */
    void end() noexcept
    {
        shutdown();
        discard();
    }

    /** Destroys what never ran, and what that posts while it goes. */
    void discard() noexcept
    {
        while (!ready_.empty())
            std::exchange(ready_, {}).clear();
    }

private:
    struct Work {
        Work() = default;
        Work(Work const&) = delete;
        Work& operator=(Work const&) = delete;
        virtual ~Work() = default;
        virtual void run() = 0;
    };
    template <class Function>
    struct WorkOf final : Work {
        explicit WorkOf(Function work)
            : function(std::move(work))
        {
        }
        void run() override { std::move(function)(); }
        Function function;
    };

    std::deque<std::unique_ptr<Work>> ready_;
};

/** A runtime in virtual time: nothing runs and no time passes but by `run_...`. The same calls give the same run,
 *  always. */
class FakeRuntime : public Runtime
{
public:
    struct Line {
        LogLevel level;
        std::string text;
    };

    explicit FakeRuntime(std::uint64_t seed = 1)
        : executor_(context_.get_executor())
        , strand_(executor_)
        , random_state_(seed)
    {
    }

    ~FakeRuntime() override { discard(); }

    // -- Runtime --
    [[nodiscard]] Instant now() const noexcept override { return now_; }

    [[nodiscard]] std::uint64_t random() override
    {
        // splitmix64: any seed gives a full-period sequence
        std::uint64_t z = (random_state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    [[nodiscard]] asio::any_io_executor const& executor() const noexcept override { return executor_; }
    [[nodiscard]] Strand const& strand() const noexcept override { return strand_; }
    void post(Task task) override { asio::post(strand_, std::move(task)); }

    TimerId call_at(Instant when, Task task) override
    {
        auto const id = ++last_timer_;
        timers_.emplace(std::pair(when, id), std::move(task));
        return id;
    }

    void cancel(TimerId id) noexcept override
    {
        auto const found =
            std::find_if(timers_.begin(), timers_.end(), [id](auto const& timer) { return timer.first.second == id; });
        if (found != timers_.end())
            timers_.erase(found);
    }

    [[nodiscard]] bool logs(LogLevel) const noexcept override { return true; }
    void log(LogLevel level, std::string_view line) const noexcept override
    {
        log_.push_back({level, std::string(line)});
    }

    // -- for the test --

    /** Runs all that is ready now, and what that makes ready, without any time passing. Returns how many items ran. */
    std::size_t run_ready()
    {
        std::size_t count = 0;
        for (;;) {
            if (context_.run_one()) {
                ++count;
            } else if (!timers_.empty() && timers_.begin()->first.first <= now_) {
                auto due = timers_.extract(timers_.begin());
                asio::post(strand_, std::move(due.mapped()));
            } else {
                return count;
            }
        }
    }

    /** Lets time pass, stopping at each timer on the way. */
    void run_until(Instant end)
    {
        run_ready();
        while (!timers_.empty() && timers_.begin()->first.first <= end) {
            now_ = std::max(now_, timers_.begin()->first.first);
            run_ready();
        }
        now_ = std::max(now_, end);
    }
    void run_for(Instant::duration duration) { run_until(now_ + duration); }

    /** Runs until the condition holds, for at most `limit` of virtual time; returns whether it holds. */
    template <class Condition>
    bool run_while_not(Condition condition, Instant::duration limit)
    {
        auto const end = now_ + limit;
        for (;;) {
            if (condition())
                return true;
            if (context_.run_one())
                continue;
            if (timers_.empty() || timers_.begin()->first.first > end) {
                now_ = end;
                return condition();
            }
            now_ = std::max(now_, timers_.begin()->first.first);
            auto due = timers_.extract(timers_.begin());
            asio::post(strand_, std::move(due.mapped()));
        }
    }

    /** Time passes and nothing runs: the process was stopped, or its loop was busy. */
    void skip(Instant::duration duration) noexcept { now_ += duration; }

    [[nodiscard]] std::size_t timers() const noexcept { return timers_.size(); }
    [[nodiscard]] Instant next_timer() const noexcept
    {
        return timers_.empty() ? Instant::max() : timers_.begin()->first.first;
    }
    [[nodiscard]] ManualContext& context() noexcept { return context_; }

    [[nodiscard]] std::vector<Line> const& lines() const noexcept { return log_; }
    [[nodiscard]] std::size_t logged(std::string_view part) const
    {
        return static_cast<std::size_t>(std::count_if(
            log_.begin(), log_.end(), [part](Line const& line) { return line.text.find(part) != std::string::npos; }));
    }

    /** Destroys all tasks and timers that have not run; they may own this runtime. */
    void discard() noexcept
    {
        std::exchange(timers_, {}).clear();
        context_.discard();
    }

private:
    ManualContext context_;
    asio::any_io_executor executor_;
    Strand strand_;
    // an arbitrary start: nothing may depend on it, so it is not 0
    Instant now_{std::chrono::hours{1}};
    std::map<std::pair<Instant, TimerId>, Task> timers_;
    TimerId last_timer_ = 0;
    std::uint64_t random_state_;
    mutable std::vector<Line> log_;
};

} // namespace tenure::test
