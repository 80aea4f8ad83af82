// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "scheduler.hpp"

#include "harness/immovable.hpp"

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>

#include <utility>

namespace tenure::simulation
{

namespace asio = boost::asio;

/** The execution context of one simulated process: what is posted to it becomes ready work of its lane. */
class Context : public asio::execution_context, test::Immovable
{
public:
    class Executor
    {
    public:
        explicit Executor(Context& context) noexcept
            : context_(&context)
        {
        }

        template <class Function>
        void execute(Function function) const
        {
            context_->scheduler_.post(context_->process_, Work(std::move(function)));
        }

        asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
        static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
        {
            return asio::execution::blocking.never;
        }
        [[nodiscard]] Executor require(asio::execution::blocking_t::never_t) const noexcept { return *this; }

        friend bool operator==(Executor const& left, Executor const& right) noexcept
        {
            return left.context_ == right.context_;
        }
        friend bool operator!=(Executor const& left, Executor const& right) noexcept { return !(left == right); }

    private:
        Context* context_;
    };

    Context(Scheduler& scheduler, ProcessId process) noexcept
        : scheduler_(scheduler)
        , process_(process)
    {
    }
    ~Context()
    {
        end();
        destroy();
    }

    [[nodiscard]] Executor get_executor() noexcept { return Executor(*this); }

    /** The first step when a process dies: its services drop everything, and nothing runs afterwards. */
    void end() noexcept
    {
        scheduler_.discard(process_);
        shutdown();
        scheduler_.discard(process_);
    }

private:
    Scheduler& scheduler_;
    ProcessId process_;
};

} // namespace tenure::simulation
