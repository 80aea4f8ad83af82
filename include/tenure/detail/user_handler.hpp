// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/one_shot.hpp>
#include <tenure/detail/runs_here.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tenure::detail
{

namespace asio = boost::asio;

template <class Signature>
class UserHandler;

/** A completion handler of a user with the executor on which it is to be called, whose context is kept running until
 * then. One object from the initiating call to the completion, made where the handler's type is still known: an
 * `any_completion_handler` would be another one on the way, and wraps its executor anew for each question. */
template <class... Results>
class UserHandler<void(Results...)>
{
public:
    /** @param runs_on  of the object that it waits for: its executor unless it has one of its own */
    template <class Handler>
        requires(!std::same_as<std::remove_cvref_t<Handler>, UserHandler>)
    UserHandler(Handler&& handler, asio::any_io_executor const& runs_on)
        : waiting_(new WaitingFor<std::decay_t<Handler>>(std::forward<Handler>(handler), runs_on))
    {
    }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return waiting_->slot(); }

    /** The executor of the library, which is there for sure. */
    [[nodiscard]] asio::any_io_executor const& runs_on() const noexcept { return waiting_->runs_on; }

    /** What calls the handler with these results, on the handler's executor, wherever it is called itself. */
    [[nodiscard]] OneShot<void()> completion(Results... results) &&
    {
        waiting_->results.emplace(std::move(results)...);
        return OneShot<void()>(std::unique_ptr<OneShot<void()>::Target>(std::move(waiting_)));
    }

private:
    class Waiting : public OneShot<void()>::Target
    {
    public:
        explicit Waiting(asio::any_io_executor const& executor)
            : runs_on(executor)
        {
        }
        [[nodiscard]] virtual asio::cancellation_slot slot() const noexcept = 0;

        asio::any_io_executor runs_on;
        /// set when the handler is to be called
        std::optional<std::tuple<Results...>> results;
    };

    template <class Handler>
    class WaitingFor final : public Waiting
    {
    public:
        template <class Source>
        WaitingFor(Source&& handler, asio::any_io_executor const& executor)
            : Waiting(executor)
            , handler_(std::forward<Source>(handler))
            , executor_(asio::prefer(
                  asio::get_associated_executor(handler_, this->runs_on), asio::execution::outstanding_work_t::tracked))
        {
            if constexpr (std::same_as<
                              asio::associated_executor_t<Handler, asio::any_io_executor>, asio::any_io_executor>)
                has_same_executor_ = asio::get_associated_executor(handler_, this->runs_on) == this->runs_on;
            // the handler gets there by way of this one, which nothing else may keep running
            if (!has_same_executor_)
                this->runs_on = asio::prefer(this->runs_on, asio::execution::outstanding_work_t::tracked);
        }

        [[nodiscard]] asio::cancellation_slot slot() const noexcept override
        {
            return asio::get_associated_cancellation_slot(handler_);
        }

        void call() override
        {
            auto completion = [handler = std::move(handler_), results = std::move(*this->results)]() mutable {
                std::apply([&](Results&... values) { std::move(handler)(std::move(values)...); }, results);
            };
            if (has_same_executor_ && runs_here(this->runs_on))
                completion();
            else
                asio::dispatch(executor_, std::move(completion));
        }

    private:
        static_assert(alignof(Handler) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        Handler handler_;
        using Executor = std::decay_t<decltype(asio::prefer(
            asio::get_associated_executor(std::declval<Handler&>(), std::declval<asio::any_io_executor const&>()),
            asio::execution::outstanding_work_t::tracked))>;
        Executor executor_;
        /// no other than that of the library
        bool has_same_executor_ = false;
    };

    std::unique_ptr<Waiting> waiting_;
};

} // namespace tenure::detail
