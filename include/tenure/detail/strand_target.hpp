// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace tenure::detail
{

namespace asio = boost::asio;

/** True within a handler that this executor runs on this thread, as far as the library knows: what is dispatched to it
 * there may be called at once. */
[[nodiscard]] bool runs_here(asio::any_io_executor const& executor) noexcept;

/** An `any_io_executor` below a strand. Asio's strand asks what lies below it for properties each time it is entered,
 * and each answer of a type-erased executor is a copy with an allocation or two; this one knows what a strand needs,
 * and passes on what is to be run, or runs it where the executor would. */
class StrandTarget
{
public:
    /** A template, so that nothing but an `any_io_executor` is ever tried. */
    template <std::same_as<asio::any_io_executor> Executor>
    StrandTarget(Executor executor)
        : executor_(std::move(executor))
    {
    }

    template <class Function>
    void execute(Function&& function) const
    {
        if (never_blocks_ || !runs_here(executor_)) {
            executor_.execute(std::forward<Function>(function));
            return;
        }
        std::decay_t<Function> here(std::forward<Function>(function));
        here();
    }

    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const
    {
        return asio::query(executor_, asio::execution::context);
    }
    [[nodiscard]] asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept
    {
        return never_blocks_ ? asio::execution::blocking_t(asio::execution::blocking_t::never)
                             : asio::execution::blocking_t(asio::execution::blocking_t::possibly);
    }
    [[nodiscard]] StrandTarget require(asio::execution::blocking_t::never_t) const
    {
        if (never_blocks_)
            return *this;
        return {asio::require(executor_, asio::execution::blocking_t::never), true};
    }

    [[nodiscard]] bool operator==(StrandTarget const& other) const noexcept = default;

private:
    StrandTarget(asio::any_io_executor executor, bool never_blocks)
        : executor_(std::move(executor))
        , never_blocks_(never_blocks)
    {
    }

    asio::any_io_executor executor_;
    bool never_blocks_ = false;
};

} // namespace tenure::detail
