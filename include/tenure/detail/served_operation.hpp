// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/work.hpp>
#include <tenure/errc.hpp>
#include <tenure/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace tenure::detail
{

/** The handler of an operation of `async_serve`. */
struct OperationEnded {
    using executor_type = boost::asio::any_io_executor;
    using cancellation_slot_type = boost::asio::cancellation_slot;

    [[nodiscard]] executor_type get_executor() const noexcept { return executor; }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return slot; }

    void operator()() const { ended(nullptr); }
    template <class... Results>
    void operator()(std::exception_ptr failure, Results&&...) const
    {
        ended(std::move(failure));
    }
    template <class... Results>
    void operator()(error_code code, Results&&...) const
    {
        ended(code ? exception_of(code) : std::exception_ptr());
    }

    boost::asio::any_io_executor executor;
    boost::asio::cancellation_slot slot;
    std::function<void(std::exception_ptr)> ended;
};

/** An operation of `async_serve` that has not begun. */
class ServedOperation
{
public:
    ServedOperation() = default;
    ServedOperation(ServedOperation const&) = delete;
    ServedOperation& operator=(ServedOperation const&) = delete;
    virtual ~ServedOperation() = default;
    virtual void start(OperationEnded handler) = 0;
};

template <class Operation>
concept ServedFunction = requires(std::decay_t<Operation>& operation) { requires is_awaitable<decltype(operation())>; };

/** A coroutine, a function that returns one, or a deferred operation. */
template <class Operation>
inline constexpr bool is_operation = is_awaitable<std::decay_t<Operation>> || ServedFunction<Operation> ||
                                     boost::asio::is_deferred<std::decay_t<Operation>>::value;

template <class Operation>
class ServedOperationOf final : public ServedOperation
{
public:
    explicit ServedOperationOf(Operation operation)
        : operation_(std::move(operation))
    {
    }

    void start(OperationEnded handler) override
    {
        if constexpr (is_awaitable<Operation> || ServedFunction<Operation>) {
            auto const executor = handler.executor;
            boost::asio::co_spawn(executor, std::move(operation_), std::move(handler));
        } else {
            std::move(operation_)(std::move(handler));
        }
    }

private:
    Operation operation_;
};

template <class Operation>
[[nodiscard]] std::unique_ptr<ServedOperation> served(Operation&& operation)
{
    return std::make_unique<ServedOperationOf<std::decay_t<Operation>>>(std::forward<Operation>(operation));
}

} // namespace tenure::detail
