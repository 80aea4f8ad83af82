// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/own_thread.hpp"
#include "testing/virtual_time.hpp"

#include <tenure/backend/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

/** The runtime of tenure::testing for tests of the insides: they see what is ready, when the next timer is due and what
 *  was logged. Nothing runs and no time passes but by `run_...`. The same calls give the same run, always. */
class FakeRuntime : public ThreadRuntime
{
public:
    struct Line {
        LogLevel level;
        std::string text;
    };

    explicit FakeRuntime(std::uint64_t seed = 1)
        : runtime_(testing::make_runtime(time_, seed))
    {
    }

    ~FakeRuntime() override { discard(); }

    // -- Runtime --
    [[nodiscard]] Instant now() const noexcept override { return runtime_->now(); }
    [[nodiscard]] std::chrono::sys_seconds wall_clock() const noexcept override { return runtime_->wall_clock(); }
    [[nodiscard]] std::uint64_t random() override { return runtime_->random(); }
    void random_bytes(std::span<std::byte> bytes) override
    {
        runtime_->random_bytes(bytes);
        drawn.insert(drawn.end(), bytes.begin(), bytes.end());
    }
    [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept override
    {
        return runtime_->user_executor();
    }
    [[nodiscard]] Strand const& strand() const noexcept override { return runtime_->strand(); }
    [[nodiscard]] OwnThread* own_thread() const noexcept override { return thread.get(); }
    void post(Task task) override { runtime_->post(std::move(task)); }
    TimerId call_at(Instant when, Task task) override { return runtime_->call_at(when, std::move(task)); }
    void cancel(TimerId id) noexcept override { runtime_->cancel(id); }
    [[nodiscard]] bool logs(LogLevel) const noexcept override { return true; }
    void log(LogLevel level, std::string_view line) const noexcept override
    {
        log_.push_back({level, std::string(line)});
    }

    // -- for the test --

    /// the engine takes this for the store's own thread; nothing runs on it
    std::shared_ptr<OwnThread> thread;
    /// all that `random_bytes` has given
    std::vector<std::byte> drawn;

    /** Runs all that is ready now, and what that makes ready, without any time passing. */
    void run_ready() { time_.run_ready(); }
    /** Lets time pass, stopping at each timer on the way. */
    void run_for(Instant::duration duration) { time_.run_for(duration); }
    void run_until(Instant end) { run_for(end - now()); }

    /** Runs until the condition holds, for at most `limit` of virtual time; returns whether it holds. */
    template <class Condition>
    bool run_while_not(Condition condition, Instant::duration limit)
    {
        auto const end = now() + limit;
        while (!condition()) {
            if (run_one())
                continue;
            if (next_timer() > end) {
                skip(end - now());
                return condition();
            }
            skip(std::max(next_timer() - now(), Instant::duration::zero()));
            auto& timers = time_.state()->timers;
            auto due = timers.extract(timers.begin());
            std::move(due.mapped())();
        }
        return true;
    }

    /** Time passes and nothing runs: the process was stopped, or its loop was busy. */
    void skip(Instant::duration duration) noexcept { time_.skip(duration); }

    [[nodiscard]] std::size_t ready() const noexcept { return time_.state()->ready.size(); }
    [[nodiscard]] std::size_t timers() const noexcept { return time_.state()->timers.size(); }
    [[nodiscard]] Instant next_timer() const noexcept
    {
        return timers() == 0 ? Instant::max() : time_.state()->timers.begin()->first.first;
    }

    [[nodiscard]] std::vector<Line> const& lines() const noexcept { return log_; }
    [[nodiscard]] std::size_t logged(std::string_view part) const
    {
        return static_cast<std::size_t>(std::count_if(
            log_.begin(), log_.end(), [part](Line const& line) { return line.text.find(part) != std::string::npos; }));
    }

    /** Destroys all tasks and timers that have not run; they may own this runtime. */
    void discard() noexcept { time_.state()->discard(); }

    /** The first step of the destruction of a context: its services let go of everything. */
    void end_context() noexcept { time_.end(); }

private:
    struct Time final : testing::VirtualTime {
        void end() noexcept
        {
            shutdown();
            state()->discard();
        }
    };

    /** Runs the oldest ready item; false: there is none. */
    bool run_one()
    {
        auto& ready = time_.state()->ready;
        if (ready.empty())
            return false;
        auto const work = std::move(ready.front());
        ready.pop_front();
        work->run();
        return true;
    }

    Time time_;
    std::shared_ptr<Runtime> runtime_;
    mutable std::vector<Line> log_;
};

} // namespace tenure::test
