// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <handler_batch.hpp>

#include <tenure/detail/user_handler.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <utility>

namespace tenure::engine
{

namespace asio = boost::asio;

/** A signal that asks for nothing ends nothing. */
[[nodiscard]] constexpr bool asks_for_an_end(asio::cancellation_type type) noexcept
{
    return type != asio::cancellation_type::none;
}

template <class Signature>
class PendingHandler;

/** A user's completion handler that waits to be called. */
template <class... Results>
class PendingHandler<void(Results...)>
{
public:
    explicit PendingHandler(detail::UserHandler<void(Results...)> handler) noexcept
        : handler_(std::move(handler))
    {
    }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return handler_.slot(); }

    /** Calls the handler on its executor, never inside this function and never on the strand of the library: user code
     * that takes its time must not hold up renewals. A HandlerBatch may call it right after the
     * strand is free. */
    void post(Results... results) &&
    {
        auto const runs_on = handler_.runs_on();
        auto completion = std::move(handler_).completion(std::move(results)...);
        if (!HandlerBatch::take(completion))
            HandlerBatch::post(runs_on, std::move(completion));
    }

    [[nodiscard]] detail::UserHandler<void(Results...)> user_handler() && { return std::move(handler_); }

private:
    detail::UserHandler<void(Results...)> handler_;
};

} // namespace tenure::engine
