// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "threads.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace tenure::simulation
{

namespace asio = boost::asio;

using Work = testing::VirtualTime::State::Work;

struct Threads::Tasks {
    std::deque<std::unique_ptr<Work>> ready;
    /// the world has ended, and what is posted is dropped
    bool over = false;

    template <class Function>
    struct WorkOf final : Work {
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
        Executor(testing::VirtualTime& context, std::shared_ptr<Tasks> tasks) noexcept
            : context_(&context)
            , tasks_(std::move(tasks))
        {
        }

        template <class Function>
        void execute(Function function) const
        {
            if (!tasks_->over)
                tasks_->ready.push_back(std::make_unique<WorkOf<Function>>(std::move(function)));
        }

        asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
        static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
        {
            return asio::execution::blocking_t::never;
        }
        [[nodiscard]] Executor require(asio::execution::blocking_t::never_t) const noexcept { return *this; }

        friend bool operator==(Executor const& left, Executor const& right) noexcept
        {
            return left.tasks_ == right.tasks_;
        }

    private:
        testing::VirtualTime* context_;
        std::shared_ptr<Tasks> tasks_;
    };

    /** A runtime of virtual time, but for the executor of users. */
    class ThreadsRuntime final : public Runtime
    {
    public:
        ThreadsRuntime(std::shared_ptr<Runtime> runtime, asio::any_io_executor executor)
            : runtime_(std::move(runtime))
            , executor_(std::move(executor))
        {
        }

        [[nodiscard]] Instant now() const noexcept override { return runtime_->now(); }
        [[nodiscard]] std::chrono::sys_seconds wall_clock() const noexcept override { return runtime_->wall_clock(); }
        [[nodiscard]] std::uint64_t random() override { return runtime_->random(); }
        void random_bytes(std::span<std::byte> bytes) override { runtime_->random_bytes(bytes); }
        [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept override { return executor_; }
        [[nodiscard]] Strand const& strand() const noexcept override { return runtime_->strand(); }
        void post(Task task) override { runtime_->post(std::move(task)); }
        TimerId call_at(Instant when, Task task) override { return runtime_->call_at(when, std::move(task)); }
        void cancel(TimerId id) noexcept override { runtime_->cancel(id); }
        [[nodiscard]] bool logs(LogLevel level) const noexcept override { return runtime_->logs(level); }
        void log(LogLevel level, std::string_view line) const noexcept override { runtime_->log(level, line); }

    private:
        std::shared_ptr<Runtime> runtime_;
        asio::any_io_executor executor_;
    };
};

Threads::Threads(testing::VirtualTime& time, Random& random)
    : time_(time)
    , random_(random)
    , tasks_(std::make_shared<Tasks>())
{
}

Threads::~Threads()
{
    resume();
    tasks_->over = true;
    std::exchange(tasks_->ready, {}).clear();
}

std::shared_ptr<Runtime> Threads::make_runtime(std::uint64_t seed)
{
    return std::make_shared<Tasks::ThreadsRuntime>(testing::make_runtime(time_, seed), Tasks::Executor(time_, tasks_));
}

bool Threads::strands_are_ready() const
{
    auto const& state = *time_.state();
    return !state.ready.empty() || (!state.timers.empty() && state.timers.begin()->first.first <= time_.now());
}

std::unique_ptr<Work> Threads::take()
{
    auto& ready = tasks_->ready;
    auto const next = ready.begin() + random_.below(static_cast<std::uint32_t>(ready.size()));
    auto work = std::move(*next);
    ready.erase(next);
    return work;
}

bool Threads::run_one()
{
    auto& state = *time_.state();
    bool const strands = strands_are_ready();
    if (!tasks_->ready.empty() && (!strands || random_.below(2) == 0)) {
        take()->run();
    } else if (!state.ready.empty()) {
        auto const work = std::move(state.ready.front());
        state.ready.pop_front();
        work->run();
    } else if (strands) {
        // only now: a task of a timer that is due can no longer be cancelled, so no work of a strand may come before it
        auto due = state.timers.extract(state.timers.begin());
        std::move(due.mapped())();
    } else {
        return false;
    }
    return true;
}

void Threads::interrupt()
{
    if (!interrupted_ && !tasks_->ready.empty())
        interrupted_ = take();
}

void Threads::resume()
{
    if (interrupted_)
        tasks_->ready.push_back(std::move(interrupted_));
}

void Threads::run_ready()
{
    resume();
    while (run_one())
        ;
}

bool Threads::quiet() const
{
    return !interrupted_ && tasks_->ready.empty() && !strands_are_ready();
}

} // namespace tenure::simulation
