// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <handler_batch.hpp>

#include <tenure/detail/user_handler.hpp>
#include <tenure/runtime.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <tuple>
#include <utility>

namespace tenure::engine
{

namespace asio = boost::asio;

/** A user's completion handler that waits to be called. */
template <class Signature>
class PendingHandler
{
public:
    PendingHandler(detail::UserHandler<Signature> handler, asio::any_io_executor const& runs_on)
        : handler_(std::move(handler))
        , runs_on_(runs_on)
    {
    }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return handler_.handler().get_cancellation_slot(); }

    /** Calls the handler on its executor, never inside this function and never on the strand of the library: user code
     * that takes its time must not hold up renewals. A HandlerBatch may call it right after the
     * strand is free. */
    template <class... Results>
    void post(Results... results) &&
    {
        Task call = [handler = std::move(handler_), results = std::tuple<Results...>(std::move(results)...)]() mutable {
            auto taken = std::move(handler);
            taken.on_executor([&](auto const& executor) {
                asio::dispatch(
                    executor, [handler = std::move(taken.handler()), results = std::move(results)]() mutable {
                        std::apply([&](auto&... values) { std::move(handler)(std::move(values)...); }, results);
                    });
            });
        };
        if (!HandlerBatch::take(call))
            HandlerBatch::post(runs_on_, std::move(call));
    }

private:
    detail::UserHandler<Signature> handler_;
    /// the executor of the library, which is there for sure
    asio::any_io_executor runs_on_;
};

} // namespace tenure::engine
