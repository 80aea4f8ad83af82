// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace tenure::detail
{

namespace asio = boost::asio;

/** A completion handler of a user with the executor on which it is to be called, whose context is kept running until
 * then. Taken apart here, where the handler's type is still known: an executor that comes out of an
 * `any_completion_handler` has been wrapped, and allocated, once for each question. */
template <class Signature>
class UserHandler
{
public:
    template <class Handler>
        requires(!std::same_as<std::remove_cvref_t<Handler>, UserHandler>)
    UserHandler(Handler&& handler, asio::any_io_executor const& fallback)
        : parts_(std::make_unique<Parts>())
    {
        using Associated = asio::associated_executor_t<std::decay_t<Handler>, asio::any_io_executor>;
        if constexpr (std::is_convertible_v<Associated, asio::any_io_executor>)
            parts_->executor = asio::prefer(
                asio::any_io_executor(asio::get_associated_executor(handler, fallback)),
                asio::execution::outstanding_work_t::tracked);
        else
            parts_->weaker = asio::prefer(
                asio::any_completion_executor(asio::get_associated_executor(handler, fallback)),
                asio::execution::outstanding_work_t::tracked);
        parts_->handler = std::forward<Handler>(handler);
    }

    [[nodiscard]] asio::any_completion_handler<Signature>& handler() noexcept { return parts_->handler; }
    [[nodiscard]] asio::any_completion_handler<Signature> const& handler() const noexcept { return parts_->handler; }

    /** Calls `function(executor)` with the executor of the handler, whatever type it has. */
    template <class Function>
    void on_executor(Function function)
    {
        if (parts_->weaker)
            function(parts_->weaker);
        else
            function(parts_->executor);
    }

private:
    struct Parts {
        /// of the handler, or of the object it waits for
        asio::any_io_executor executor;
        /// that of a handler whose own executor can do less than an `any_io_executor`; else empty
        asio::any_completion_executor weaker;
        asio::any_completion_handler<Signature> handler;
    };
    /// apart, because it is handed on a dozen times, and each move of an executor is a call
    std::unique_ptr<Parts> parts_;
};

} // namespace tenure::detail
