// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <handler_batch.hpp>

#include <tenure/runtime.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <tuple>
#include <utility>

namespace tenure::engine
{

namespace asio = boost::asio;

/** A user's completion handler that waits to be called: keeps the context of its executor running until then. */
template <class Signature>
class PendingHandler
{
public:
    PendingHandler(asio::any_completion_handler<Signature> handler, asio::any_io_executor const& fallback)
        : handler_(std::move(handler))
        , fallback_(fallback)
        , executor_(asio::prefer(
              asio::get_associated_executor(handler_, asio::any_completion_executor(fallback)),
              asio::execution::outstanding_work.tracked))
    {
    }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return handler_.get_cancellation_slot(); }

    /** Calls the handler on its executor, never inside this function and never on the strand of the library: user code
     * that takes its time must not hold up renewals. A HandlerBatch may call it right after the
     * strand is free. */
    template <class... Results>
    void post(Results... results) &&
    {
        Task call = [handler = std::move(handler_), executor = std::move(executor_),
                     results = std::tuple<Results...>(std::move(results)...)]() mutable {
            auto const target = executor;
            asio::dispatch(target, [handler = std::move(handler), results = std::move(results)]() mutable {
                std::apply([&](auto&... values) { std::move(handler)(std::move(values)...); }, results);
            });
        };
        if (!HandlerBatch::take(call))
            asio::post(fallback_, std::move(call));
    }

private:
    asio::any_completion_handler<Signature> handler_;
    /// an executor that can post; a completion executor can only dispatch
    asio::any_io_executor fallback_;
    asio::any_completion_executor executor_;
};

} // namespace tenure::engine
