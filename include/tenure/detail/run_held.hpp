// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/handler_executor.hpp>
#include <tenure/detail/handler_memory.hpp>
#include <tenure/detail/on_cancel.hpp>
#include <tenure/error.hpp>
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
#include <type_traits>
#include <utility>

namespace tenure::detail
{

/** Holds a lease around the work; when the lease is lost, stops the work and acquires another; ends when the work ends
 * by itself. */
template <class Source, class Work, class Handler>
class RunHeld : public std::enable_shared_from_this<RunHeld<Source, Work, Handler>>
{
    using LeaseType = typename Source::lease_type;
    static constexpr bool has_tasks = takes_tasks<Work, LeaseType>;

public:
    RunHeld(Source source, AcquireOptions const& options, Work work, Handler& handler)
        : source_(std::move(source))
        , options_(options)
        , work_(kept(std::move(work)))
        , completes_on_(completion_executor(handler, source_.get_executor()))
        , strand_(handler_executor(handler, source_.get_executor()))
        , handler_(std::move(handler))
    {
    }

    static void start(std::shared_ptr<RunHeld> self)
    {
        auto cancel = [weak = std::weak_ptr(self)](boost::asio::cancellation_type type) {
            if (auto alive = weak.lock())
                boost::asio::dispatch(alive->strand_, [weak, type] {
                    if (auto running = weak.lock())
                        running->cancel(type);
                });
        };
        on_cancel(boost::asio::get_associated_cancellation_slot(self->handler_), every_cancellation, std::move(cancel));
        auto const strand = self->strand_;
        boost::asio::dispatch(strand, [self = std::move(self)] { self->acquire(); });
    }

    /** For `make_in_handler_memory`. */
    [[nodiscard]] Handler take_handler() noexcept { return std::move(handler_); }

private:
    [[nodiscard]] static auto kept(Work work)
    {
        if constexpr (has_tasks)
            return SharedWork<Work>{std::make_shared<Work>(std::move(work))};
        else
            return work;
    }

    /** The work for one lease. */
    [[nodiscard]] auto work_once()
    {
        if constexpr (has_tasks)
            return work_;
        else
            return std::ref(work_);
    }

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
        auto acquired = [self = this->shared_from_this()](error_code error, LeaseType lease) mutable {
            if (error)
                complete(std::move(self), exception_of(error));
            else if (self->cancelled_)
                complete(std::move(self), aborted());
            else
                self->run(std::move(lease));
        };
        source_.async_acquire(options_, step(std::move(acquired)));
    }

    void run(LeaseType lease)
    {
        auto token = lease.token();
        working_ = true;
        async_with_lease(
            std::move(lease), work_once(),
            step([self = this->shared_from_this(), token = std::move(token)](std::exception_ptr failure) mutable {
                self->working_ = false;
                // the token ends here, because the user's handler may end the context
                bool const lost = tenure::is_loss(std::exchange(token, CancellationToken()).reason());
                // the work may have lost another lease
                if (!lost || !is_loss(failure))
                    complete(std::move(self), failure);
                else if (self->cancelled_)
                    complete(std::move(self), aborted());
                else
                    self->acquire();
            }));
    }

    [[nodiscard]] static std::exception_ptr aborted()
    {
        return std::make_exception_ptr(tenure::error(boost::asio::error::operation_aborted));
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

    /** @param self  the last owner: this object is freed before the handler is called */
    static void complete(std::shared_ptr<RunHeld> self, std::exception_ptr failure)
    {
        if (auto slot = boost::asio::get_associated_cancellation_slot(self->handler_); slot.is_connected())
            slot.clear();
        auto const executor = std::move(self->completes_on_);
        auto handler = std::move(self->handler_);
        self.reset();
        boost::asio::dispatch(executor, [handler = std::move(handler), failure = std::move(failure)]() mutable {
            std::move(handler)(std::move(failure));
        });
    }

    Source source_;
    AcquireOptions options_;
    /// shared with tasks, which may go on after the run
    std::conditional_t<has_tasks, SharedWork<Work>, Work> work_;
    /// the handler's executor; kept running until the handler is called
    decltype(completion_executor(
        std::declval<Handler const&>(), std::declval<boost::asio::any_io_executor const&>())) completes_on_;
    /// everything here runs on it
    boost::asio::strand<boost::asio::any_io_executor> strand_;
    Handler handler_;
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
    Run::start(make_in_handler_memory<Run>(handler, std::move(source), options, std::move(work), handler));
};

} // namespace tenure::detail
