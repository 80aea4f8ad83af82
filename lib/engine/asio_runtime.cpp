// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "asio_runtime.hpp"

#include "random_pool.hpp"
#include "timer_queue.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::engine
{

namespace
{

/** One Asio timer drives all of a store's timers.
 *
 *  Asio's timer stands still while the machine is suspended and BOOTTIME does not, so it never sleeps longer than
 * `longest_sleep` and looks at the real clock whenever it wakes. */
class AsioRuntime final : public Runtime, public std::enable_shared_from_this<AsioRuntime>
{
public:
    AsioRuntime(asio::any_io_executor executor, LogSink log, LogLevel log_level)
        : executor_(std::move(executor))
        , strand_(executor_)
        , alarm_(strand_)
        , log_(std::move(log))
        , log_level_(log_level)
    {
    }

    [[nodiscard]] Instant now() const noexcept override { return Clock::now(); }
    [[nodiscard]] std::chrono::sys_seconds wall_clock() const noexcept override
    {
        return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    }
    [[nodiscard]] std::uint64_t random() override { return random_.next(); }
    [[nodiscard]] asio::any_io_executor const& executor() const noexcept override { return executor_; }
    [[nodiscard]] Strand const& strand() const noexcept override { return strand_; }

    void post(Task task) override { strand_.post(std::move(task)); }

    TimerId call_at(Instant when, Task task) override
    {
        auto const id = timers_.add(when, std::move(task));
        if (when < armed_for_)
            arm();
        return id;
    }

    // the alarm is left as it is and finds nothing to do: timers come and go far more often than they ring
    void cancel(TimerId id) noexcept override { timers_.remove(id); }

    [[nodiscard]] bool logs(LogLevel level) const noexcept override { return log_ && level >= log_level_; }

    void log(LogLevel level, std::string_view line) const noexcept override
    {
        try {
            if (logs(level))
                log_(level, line);
        } catch (...) { // NOLINT(bugprone-empty-catch): a log that fails must not cost a lease
        }
    }

private:
    static constexpr std::chrono::milliseconds longest_sleep{250};

    void arm()
    {
        auto const now = Clock::now();
        auto const first = timers_.first_due();
        auto const sleep = std::clamp<Clock::duration>(first - now, Clock::duration::zero(), longest_sleep);
        armed_for_ = std::min(first, now + sleep);
        auto const arming = ++arming_;
        alarm_.expires_after(sleep);
        alarm_.async_wait([weak = weak_from_this(), arming](boost::system::error_code const& error) {
            if (auto self = weak.lock(); self && !error && self->arming_ == arming)
                self->run_due();
        });
    }

    void run_due()
    {
        auto const self = shared_from_this();
        // while tasks run, call_at must not arm: the first timer is looked at again when they are done
        armed_for_ = Instant::min();
        try {
            run_until(Clock::now());
        } catch (...) {
            arm_again();
            throw;
        }
        arm_again();
    }

    void run_until(Instant now)
    {
        // what these tasks set for this very moment waits for the next turn: the strand has others to serve
        auto const newest = timers_.added();
        while (auto due = timers_.take_due(now, newest))
            std::move(due)();
    }

    void arm_again()
    {
        armed_for_ = Instant::max();
        if (!timers_.empty())
            arm();
    }

    asio::any_io_executor executor_;
    Strand strand_;
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Strand> alarm_;
    LogSink log_;
    LogLevel log_level_;
    RandomPool random_;

    // -- on the strand --
    TimerQueue timers_;
    /// when the alarm will ring; max: it is not set
    Instant armed_for_ = Instant::max();
    /// tells the present setting of the alarm from one whose handler was already on its way
    std::uint64_t arming_ = 0;
};

} // namespace

std::shared_ptr<Runtime> make_asio_runtime(asio::any_io_executor executor, LogSink log, LogLevel log_level)
{
    return std::make_shared<AsioRuntime>(std::move(executor), std::move(log), log_level);
}

} // namespace tenure::engine
