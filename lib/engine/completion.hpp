// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "handler_batch.hpp"
#include "no_executor.hpp"

#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/runtime.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace tenure::engine
{

template <class Signature>
class Completion;

/** A user's completion handler that waits to be called with the result of an operation. The context of the executor on
 * which it is to be called is kept running until then. */
template <class... Results>
class Completion<void(Results...)>
{
public:
    using Handler = asio::any_completion_handler<void(Results...)>;

    /** @param runtime  of the store, on whose executor handlers without one of their own are called; null: the
     * operation belongs to no store */
    Completion(Handler handler, Runtime const* runtime)
        : waiting_(new Waiting(std::move(handler), runtime != nullptr ? runtime->executor() : no_executor()))
    {
    }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return waiting_->handler.get_cancellation_slot(); }

    /** Calls the handler on its executor, never inside this function and never on the strand of the library: user code
     * that takes its time must not hold up renewals. A HandlerBatch may call it right after the
     * strand is free. */
    void post(Results... results) &&
    {
        // a copy: it may be called before this function ends
        auto const executor = waiting_->default_executor;
        waiting_->results.emplace(std::move(results)...);
        Task call(std::unique_ptr<Task::Target>(std::move(waiting_)));
        if (!HandlerBatch::take(call))
            HandlerBatch::post(executor, std::move(call));
    }

private:
    /** Itself what is called in the end. */
    class Waiting final : public Task::Target
    {
    public:
        Waiting(Handler waits, asio::any_io_executor const& executor)
            : handler(std::move(waits))
            , default_executor(executor)
            , executor_(kept_running(handler, executor))
        {
        }

        void call() override
        {
            asio::dispatch(executor_, [handler = std::move(handler), results = std::move(*results)]() mutable {
                std::apply(std::move(handler), std::move(results));
            });
        }

        Handler handler;
        asio::any_io_executor default_executor;
        /// set when the handler is to be called
        std::optional<std::tuple<Results...>> results;

    private:
        [[nodiscard]] static asio::any_completion_executor
        kept_running(Handler const& handler, asio::any_io_executor const& otherwise)
        {
            constexpr auto tracked = asio::execution::outstanding_work.tracked;
            // asked with nothing to fall back on: a fallback would be wrapped anew for each question
            auto own = asio::get_associated_executor(handler, asio::any_completion_executor());
            if (own)
                return asio::prefer(std::move(own), tracked);
            return asio::prefer(otherwise, tracked);
        }

        /// where the handler is called; its context is kept running
        asio::any_completion_executor executor_;
    };

    std::unique_ptr<Waiting> waiting_;
};

} // namespace tenure::engine
