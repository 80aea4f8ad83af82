// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Runtime over Asio: random numbers, timers, and the log.
#include "asio_runtime.hpp"

#include "fresh_bytes.hpp"
#include "log_queue.hpp"
#include "own_thread.hpp"
#include "split_mix.hpp"
#include "timer_queue.hpp"

#include <tenure/store.hpp>

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include <sys/random.h>

namespace tenure
{

namespace
{

/** @throws std::system_error if the system has none to give */
void fill_from_kernel(std::span<std::byte> bytes)
{
    while (!bytes.empty()) {
        auto const count = ::getrandom(bytes.data(), bytes.size(), 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw std::system_error(errno, std::generic_category(), "getrandom");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

std::uint64_t make_seed()
{
    std::uint64_t seed = 0;
    fill_from_kernel(std::as_writable_bytes(std::span(&seed, 1)));
    return seed;
}

/** Runtime over Asio: one Asio timer drives all of a store's timers.
 *
 *  Asio's timer stops while the machine is suspended and BOOTTIME does not, so it never sleeps longer than
 *  `longest_sleep` and reads the real clock at each wake-up. */
class AsioRuntime final : public ThreadRuntime, public std::enable_shared_from_this<AsioRuntime>
{
public:
    AsioRuntime(asio::any_io_executor user_executor, LogSink log, LogLevel log_level)
        : user_executor_(std::move(user_executor))
        , strand_(user_executor_)
        , alarm_(strand_)
        , log_(std::move(log))
        , log_level_(log_level)
    {
    }
    AsioRuntime(std::shared_ptr<OwnThread> thread, LogSink log, LogLevel log_level)
        : thread_(std::move(thread))
        , strand_(thread_->strand())
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
    void random_bytes(std::span<std::byte> bytes) override { fresh_.draw(bytes, Clock::now(), fill_from_kernel); }
    [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept override
    {
        return thread_ ? thread_->user_executor() : user_executor_;
    }
    [[nodiscard]] OwnThread* own_thread() const noexcept override { return thread_.get(); }
    [[nodiscard]] Strand const& strand() const noexcept override { return strand_; }

    void post(Task task) override { strand_.post(std::move(task)); }

    TimerId call_at(Instant when, Task task) override
    {
        auto const id = timers_.add(when, std::move(task));
        if (when < armed_for_)
            arm();
        return id;
    }

    // the alarm stays set and then finds nothing due: timers are set and cancelled far more often than they fire
    void cancel(TimerId id) noexcept override
    {
        timers_.remove(id);
        // the thread of a closed store does not wait for it
        if (thread_ && thread_->is_let_go() && timers_.empty())
            disarm();
    }

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
        // where this fails, the next call tries again
        armed_for_ = Instant::max();
        auto const arming = ++arming_;
        alarm_.expires_after(sleep);
        alarm_.async_wait([weak = weak_from_this(), arming](boost::system::error_code const& error) {
            if (auto self = weak.lock(); self && !error && self->arming_ == arming)
                self->run_due();
        });
        armed_for_ = std::min(first, now + sleep);
    }

    void disarm() noexcept
    {
        armed_for_ = Instant::max();
        ++arming_;
        try {
            alarm_.cancel();
        } catch (...) { // NOLINT(bugprone-empty-catch): the alarm fires, and finds nothing due
        }
    }

    void run_due()
    {
        auto const self = shared_from_this();
        // while tasks run, call_at must not set the alarm: the first timer is checked again afterwards
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
        // timers that these tasks set for now wait for the next turn, because the strand serves others as well
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

    /// null: everything runs on the user's executor
    std::shared_ptr<OwnThread> thread_;
    /// empty if the thread has it
    asio::any_io_executor user_executor_;
    Strand strand_;
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Strand> alarm_;
    LogSink log_;
    LogLevel log_level_;
    /// for jitter: nothing that it gives has to be unique
    SplitMix random_{make_seed()};
    FreshBytes fresh_;

    // -- on the strand --
    TimerQueue timers_;
    /// when the alarm fires; max: it is not set
    Instant armed_for_ = Instant::max();
    /// distinguishes the current alarm from an earlier one whose handler was already queued
    std::uint64_t arming_ = 0;
};

} // namespace

std::shared_ptr<Runtime>
make_asio_runtime(asio::any_io_executor user_executor, LogSink log, LogLevel log_level, RunsOn runs_on)
{
    if (runs_on == RunsOn::own_thread)
        return std::make_shared<AsioRuntime>(OwnThread::make(std::move(user_executor)), std::move(log), log_level);
    return std::make_shared<AsioRuntime>(std::move(user_executor), std::move(log), log_level);
}

std::shared_ptr<Runtime> backend::make_runtime(asio::any_io_executor executor, StoreOptions const& options)
{
    auto log = options.log ? options.log : default_log_sink();
    return make_asio_runtime(
        std::move(executor), is_silent(log) ? LogSink{} : queued(std::move(log)), options.log_level,
        options.own_thread ? RunsOn::own_thread : RunsOn::user_executor);
}

std::shared_ptr<Runtime> backend::make_runtime(asio::any_io_executor executor)
{
    return make_runtime(std::move(executor), StoreOptions{});
}

} // namespace tenure
