// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/handler_executor.hpp>
#include <tenure/detail/on_cancel.hpp>
#include <tenure/options.hpp>
#include <tenure/with_lease.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/strand.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace tenure::detail
{

/** Holds a lease around the work; when the lease is lost, stops the work and acquires another; ends when the work ends
 * by itself. */
template <class Source, class Work, class Handler>
class RunHeld : public std::enable_shared_from_this<RunHeld<Source, Work, Handler>>
{
    using LeaseType = typename Source::lease_type;

public:
    RunHeld(Source source, AcquireOptions const& options, Work work, Handler handler)
        : source_(std::move(source))
        , options_(options)
        , work_(std::move(work))
        , handler_(std::move(handler))
        , completes_on_(completion_executor(handler_, source_.get_executor()))
        , strand_(handler_executor(handler_, source_.get_executor()))
    {
    }

    void start()
    {
        auto self = this->shared_from_this();
        auto cancel = [weak = std::weak_ptr(self)](boost::asio::cancellation_type type) {
            if (auto alive = weak.lock())
                boost::asio::dispatch(alive->strand_, [alive, type] { alive->cancel(type); });
        };
        on_cancel(boost::asio::get_associated_cancellation_slot(handler_), every_cancellation, std::move(cancel));
        boost::asio::dispatch(strand_, [self] { self->acquire(); });
    }

private:
    void cancel(boost::asio::cancellation_type type)
    {
        // The work has side effects: it decides on its own whether `total` ends it, and with it the run.
        cancelled_ = cancelled_ || !working_ || ends_by(type, partial_cancellation);
        cancel_step_.emit(type);
    }

    template <class StepHandler>
    auto step(StepHandler handler)
    {
        return boost::asio::bind_cancellation_slot(
            cancel_step_.slot(), boost::asio::bind_executor(strand_, std::move(handler)));
    }

    void acquire()
    {
        source_.async_acquire(options_, step([self = this->shared_from_this()](error_code error, LeaseType lease) {
                                  if (error)
                                      self->complete(std::make_exception_ptr(boost::system::system_error(error)));
                                  else if (self->cancelled_)
                                      self->complete(aborted());
                                  else
                                      self->run(std::move(lease));
                              }));
    }

    void run(LeaseType lease)
    {
        auto token = lease.token();
        working_ = true;
        async_with_lease(
            std::move(lease), std::ref(work_),
            step([self = this->shared_from_this(), token = std::move(token)](std::exception_ptr failure) {
                self->working_ = false;
                // the work may have lost another lease
                if (!is_loss(failure) || !tenure::is_loss(token.reason()))
                    self->complete(failure);
                else if (self->cancelled_)
                    self->complete(aborted());
                else
                    self->acquire();
            }));
    }

    [[nodiscard]] static std::exception_ptr aborted()
    {
        return std::make_exception_ptr(boost::system::system_error(boost::asio::error::operation_aborted));
    }

    [[nodiscard]] static bool is_loss(std::exception_ptr const& failure)
    {
        if (!failure)
            return false;
        try {
            std::rethrow_exception(failure);
        } catch (boost::system::system_error const& error) {
            return error.code() == errc::lease_lost;
        } catch (...) {
            return false;
        }
    }

    void complete(std::exception_ptr failure)
    {
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.clear();
        auto handler = std::make_shared<Handler>(std::move(handler_));
        boost::asio::dispatch(
            completes_on_, [handler, failure = std::move(failure)] { std::move (*handler)(failure); });
    }

    Source source_;
    AcquireOptions options_;
    Work work_;
    Handler handler_;
    /// the handler's executor; kept running until the handler is called
    decltype(completion_executor(
        std::declval<Handler const&>(), std::declval<boost::asio::any_io_executor const&>())) completes_on_;
    /// everything here runs on it
    boost::asio::strand<boost::asio::any_io_executor> strand_;
    /// cancels the current step
    boost::asio::cancellation_signal cancel_step_;
    /// the caller cancelled: no further step
    bool cancelled_ = false;
    /// the work runs, or its lease is being released
    bool working_ = false;
};

inline constexpr auto executor_of_run = [](auto const& source) { return source.get_executor(); };

inline constexpr auto start_run = [](auto source, AcquireOptions const& options, auto work, auto handler) {
    using Run = RunHeld<decltype(source), decltype(work), decltype(handler)>;
    std::make_shared<Run>(std::move(source), options, std::move(work), std::move(handler))->start();
};

} // namespace tenure::detail
