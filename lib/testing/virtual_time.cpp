// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// VirtualTime: the work and the timers of simulated time.
#include "virtual_time.hpp"

#include "runtime/split_mix.hpp"

#include <tenure/detail/on_cancel.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>

#include <algorithm>

namespace tenure::testing
{

namespace
{

template <class Function>
struct WorkOf final : VirtualTime::State::Work {
    explicit WorkOf(Function work)
        : function(std::move(work))
    {
    }
    void run() override { std::move(function)(); }
    Function function;
};

class Executor
{
public:
    Executor(VirtualTime& context, std::shared_ptr<VirtualTime::State> state) noexcept
        : context_(&context)
        , state_(std::move(state))
    {
    }

    template <class Function>
    void execute(Function function) const
    {
        state_->ready.push_back(std::make_unique<WorkOf<Function>>(std::move(function)));
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

private:
    VirtualTime* context_;
    std::shared_ptr<VirtualTime::State> state_;
};

class VirtualRuntime final : public Runtime
{
public:
    VirtualRuntime(VirtualTime& time, std::uint64_t seed)
        : state_(time.state())
        , executor_(time.get_executor())
        , strand_(executor_)
        , random_(seed)
    {
    }

    [[nodiscard]] Instant now() const noexcept override { return state_->now; }
    [[nodiscard]] std::chrono::sys_seconds wall_clock() const noexcept override
    {
        return std::chrono::sys_seconds(std::chrono::floor<std::chrono::seconds>(state_->now.time_since_epoch()));
    }
    [[nodiscard]] std::uint64_t random() override { return random_.next(); }
    void random_bytes(std::span<std::byte> bytes) override { random_.fill(bytes); }
    [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept override { return executor_; }
    [[nodiscard]] Strand const& strand() const noexcept override { return strand_; }
    void post(Task task) override { strand_.post(std::move(task)); }
    TimerId call_at(Instant when, Task task) override
    {
        return state_->at(when, [strand = strand_, task = std::move(task)]() mutable { strand.post(std::move(task)); });
    }
    void cancel(TimerId id) noexcept override { state_->cancel(id); }
    [[nodiscard]] bool logs(LogLevel) const noexcept override { return false; }
    void log(LogLevel, std::string_view) const noexcept override {}

private:
    std::shared_ptr<VirtualTime::State> state_;
    asio::any_io_executor executor_;
    Strand strand_;
    SplitMix random_;
};

} // namespace

std::uint64_t VirtualTime::State::at(Instant when, Task task)
{
    timers.emplace(std::pair(when, ++last_timer), std::move(task));
    return last_timer;
}

void VirtualTime::State::cancel(std::uint64_t id) noexcept
{
    // of none: most are cancelled before they were ever set
    if (id == 0)
        return;
    auto const found = std::ranges::find_if(timers, [id](auto const& timer) { return timer.first.second == id; });
    if (found != timers.end())
        timers.erase(found);
}

void VirtualTime::State::discard() noexcept
{
    while (!ready.empty() || !timers.empty()) {
        std::exchange(timers, {}).clear();
        std::exchange(ready, {}).clear();
    }
}

VirtualTime::VirtualTime()
    : state_(std::make_shared<State>())
{
}

VirtualTime::~VirtualTime()
{
    state_->discard();
    shutdown();
    state_->discard();
    destroy();
}

asio::any_io_executor VirtualTime::get_executor() noexcept
{
    return Executor(*this, state_);
}

Instant VirtualTime::now() const noexcept
{
    return state_->now;
}

void VirtualTime::run_ready()
{
    for (;;) {
        if (!state_->ready.empty()) {
            auto const work = std::move(state_->ready.front());
            state_->ready.pop_front();
            work->run();
        } else if (!state_->timers.empty() && state_->timers.begin()->first.first <= state_->now) {
            auto due = state_->timers.extract(state_->timers.begin());
            std::move(due.mapped())();
        } else {
            return;
        }
    }
}

void VirtualTime::run_for(Clock::duration duration)
{
    auto const end = state_->now + duration;
    run_ready();
    while (!state_->timers.empty() && state_->timers.begin()->first.first <= end) {
        state_->now = std::max(state_->now, state_->timers.begin()->first.first);
        run_ready();
    }
    state_->now = std::max(state_->now, end);
}

void VirtualTime::skip(Clock::duration duration) noexcept
{
    state_->now += duration;
}

void VirtualTime::start_wait(VirtualTime* time, Clock::duration duration, WaitHandler handler)
{
    auto const& state = time->state_;
    auto const waiting = std::make_shared<WaitHandler>(std::move(handler));
    auto const finish = [executor = asio::get_associated_executor(*waiting, time->get_executor())](
                            WaitHandler& ended, error_code error) {
        if (ended)
            asio::dispatch(executor, [handler = std::move(ended), error]() mutable { std::move(handler)(error); });
    };
    auto slot = asio::get_associated_cancellation_slot(*waiting);
    auto const timer = state->at(state->now + duration, [finish, waiting, slot]() mutable {
        if (slot.is_connected())
            slot.clear();
        finish(*waiting, {});
    });
    // The slot's signal is often owned by the handler, as in a coroutine, so its function must not own the handler.
    auto cancel = [finish, state, timer, weak = std::weak_ptr(waiting)](asio::cancellation_type) {
        auto const alive = weak.lock();
        if (!alive)
            return;
        state->cancel(timer);
        // never inside the call that cancels
        state->at(state->now, [finish, alive] { finish(*alive, asio::error::operation_aborted); });
    };
    detail::on_cancel(slot, detail::every_cancellation, std::move(cancel));
}

std::shared_ptr<Runtime> make_runtime(VirtualTime& time, std::uint64_t seed)
{
    return std::make_shared<VirtualRuntime>(time, seed);
}

} // namespace tenure::testing
