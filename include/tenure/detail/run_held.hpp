// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/handler_executor.hpp>
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
template <class Source, class LeaseType, class Work, class Handler>
class RunHeld : public std::enable_shared_from_this<RunHeld<Source, LeaseType, Work, Handler>>
{
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
        if (auto slot = asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.assign([weak = std::weak_ptr(self)](asio::cancellation_type type) {
                if (auto alive = weak.lock())
                    asio::dispatch(alive->strand_, [alive, type] { alive->cancel(type); });
            });
        asio::dispatch(strand_, [self] { self->acquire(); });
    }

private:
    void cancel(asio::cancellation_type type)
    {
        cancelled_ = true;
        cancel_step_.emit(type);
    }

    template <class StepHandler>
    auto step(StepHandler handler)
    {
        return asio::bind_cancellation_slot(cancel_step_.slot(), asio::bind_executor(strand_, std::move(handler)));
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
        with_lease(
            std::move(lease), std::ref(work_),
            step([self = this->shared_from_this(), token = std::move(token)](std::exception_ptr failure) {
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
        return std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
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
        if (auto slot = asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.clear();
        auto handler = std::make_shared<Handler>(std::move(handler_));
        asio::dispatch(completes_on_, [handler, failure = std::move(failure)] { std::move (*handler)(failure); });
    }

    Source source_;
    AcquireOptions options_;
    Work work_;
    Handler handler_;
    /// the handler's executor; kept running until the handler is called
    decltype(completion_executor(
        std::declval<Handler const&>(), std::declval<asio::any_io_executor const&>())) completes_on_;
    /// everything here runs on it
    asio::strand<asio::any_io_executor> strand_;
    /// cancels the current step
    asio::cancellation_signal cancel_step_;
    /// the caller cancelled: no further step
    bool cancelled_ = false;
};

struct InitiateRunHeld {
    asio::any_io_executor executor;
    using executor_type = asio::any_io_executor;
    [[nodiscard]] executor_type get_executor() const noexcept { return executor; }

    template <class Handler, class Source, class Work>
    void operator()(Handler&& handler, Source source, AcquireOptions const& options, Work work) const
    {
        using Run = RunHeld<Source, typename Source::lease_type, Work, std::decay_t<Handler>>;
        std::make_shared<Run>(std::move(source), options, std::move(work), std::forward<Handler>(handler))->start();
    }
};

} // namespace tenure::detail
