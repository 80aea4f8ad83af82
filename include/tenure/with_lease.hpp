// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/handler_executor.hpp>
#include <tenure/errc.hpp>
#include <tenure/holding.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace tenure
{

namespace detail
{

template <class T>
struct AwaitedType;
template <class T, class Executor>
struct AwaitedType<asio::awaitable<T, Executor>> {
    using type = T;
};
/** The result type of awaiting `work(lease)`. */
template <class Work, class LeaseType>
using WorkResult = typename AwaitedType<std::invoke_result_t<std::decay_t<Work>&, LeaseType&>>::type;

template <class T>
inline constexpr bool is_awaitable = false;
template <class T, class Executor>
inline constexpr bool is_awaitable<asio::awaitable<T, Executor>> = true;

/** Whether `work(lease)` is an awaitable. */
template <class Work, class LeaseType>
consteval bool is_work()
{
    if constexpr (std::is_invocable_v<std::decay_t<Work>&, LeaseType&>)
        return is_awaitable<std::invoke_result_t<std::decay_t<Work>&, LeaseType&>>;
    else
        return false;
}

/** Whether `work(lease)` is an awaitable without a result. */
template <class Work, class LeaseType>
consteval bool is_work_without_result()
{
    if constexpr (is_work<Work, LeaseType>())
        return std::is_void_v<WorkResult<Work, LeaseType>>;
    else
        return false;
}

/** Replaces an operation whose arguments failed a static_assert, so that the assertion is the only error. */
struct InitiateNothing {
    template <class... Arguments>
    void operator()(Arguments&&...) const
    {
    }
};

template <class T>
struct WorkSignature {
    using type = void(std::exception_ptr, T);
};
template <>
struct WorkSignature<void> {
    using type = void(std::exception_ptr);
};

/** One run of work under a lease: spawned on a strand of the caller's executor, cancelled when the lease is lost or the
 * caller cancels, and followed by the release. */
template <class LeaseType, class Work, class Result, class Handler>
class LeasedWork : public std::enable_shared_from_this<LeasedWork<LeaseType, Work, Result, Handler>>
{
    using Value = std::conditional_t<std::is_void_v<Result>, bool, Result>;

public:
    LeasedWork(LeaseType lease, Work work, Handler handler)
        : lease_(std::move(lease))
        , work_(std::move(work))
        , handler_(std::move(handler))
        , token_(lease_.token())
        , completes_on_(completion_executor(handler_, lease_.get_executor()))
        , strand_(handler_executor(handler_, lease_.get_executor()))
    {
    }

    void start()
    {
        auto self = this->shared_from_this();
        if (auto slot = asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.assign([weak = std::weak_ptr(self)](asio::cancellation_type type) {
                if (auto alive = weak.lock())
                    asio::dispatch(alive->strand_, [alive, type] { alive->cancel_work_.emit(type); });
            });
        asio::dispatch(strand_, [self] { self->spawn(); });
    }

private:
    void spawn()
    {
        auto self = this->shared_from_this();
        // empty, or given away before by a release or detachment
        if (!lease_ || (token_.cancelled() && !is_loss(token_.reason()))) {
            finished(std::make_exception_ptr(boost::system::system_error(make_error_code(errc::released))), Value{});
            return;
        }
        // started on the strand, so that its handler runs only after the work has begun
        token_.async_wait(
            asio::bind_cancellation_slot(stop_waiting_.slot(), asio::bind_executor(strand_, [self](error_code error) {
                                             // work that releases its own lease continues
                                             if (!error && is_loss(self->token_.reason()))
                                                 self->cancel_work_.emit(asio::cancellation_type::terminal);
                                         })));
        auto cancellable = [&](auto handler) {
            return asio::bind_cancellation_slot(cancel_work_.slot(), asio::bind_executor(strand_, std::move(handler)));
        };
        try {
            if constexpr (std::is_void_v<Result>)
                asio::co_spawn(strand_, std::invoke(work_, lease_), cancellable([self](std::exception_ptr failure) {
                                   self->finished(failure, true);
                               }));
            else
                asio::co_spawn(
                    strand_, std::invoke(work_, lease_), cancellable([self](std::exception_ptr failure, Result value) {
                        self->finished(failure, std::move(value));
                    }));
        } catch (...) {
            finished(std::current_exception(), Value{});
        }
    }

    void finished(std::exception_ptr failure, Value value)
    {
        failure_ = outcome(failure);
        value_.emplace(std::move(value));
        stop_waiting_.emit(asio::cancellation_type::terminal);
        if (auto slot = asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.clear();
        // the caller cannot cancel the release: the work has ended, and the answer takes one round trip
        lease_.async_release(asio::bind_executor(
            strand_, [self = this->shared_from_this()](error_code, ReleaseOutcome) { self->complete(); }));
    }

    /** Reports a loss, unless the work failed with another error. */
    [[nodiscard]] std::exception_ptr outcome(std::exception_ptr const& failure) const
    {
        if (!is_loss(token_.reason()))
            return failure;
        if (failure) {
            try {
                std::rethrow_exception(failure);
            } catch (boost::system::system_error const& error) {
                if (error.code() != asio::error::operation_aborted)
                    return failure;
            } catch (...) {
                return failure;
            }
        }
        return std::make_exception_ptr(boost::system::system_error(make_error_code(errc::lease_lost)));
    }

    void complete()
    {
        auto handler = std::make_shared<Handler>(std::move(handler_));
        if constexpr (std::is_void_v<Result>)
            asio::dispatch(completes_on_, [handler, failure = failure_] { std::move (*handler)(failure); });
        else
            asio::dispatch(completes_on_, [handler, failure = failure_, value = std::move(*value_)]() mutable {
                std::move (*handler)(failure, std::move(value));
            });
    }

    LeaseType lease_;
    Work work_;
    Handler handler_;
    CancellationToken token_;
    /// the handler's executor; kept running until the handler is called
    decltype(completion_executor(
        std::declval<Handler const&>(), std::declval<asio::any_io_executor const&>())) completes_on_;
    /// everything here runs on it
    asio::strand<asio::any_io_executor> strand_;
    /// ends the work
    asio::cancellation_signal cancel_work_;
    /// ends the wait for the cancellation token
    asio::cancellation_signal stop_waiting_;
    std::exception_ptr failure_;
    std::optional<Value> value_;
};

struct InitiateWithLease {
    asio::any_io_executor executor;
    using executor_type = asio::any_io_executor;
    [[nodiscard]] executor_type get_executor() const noexcept { return executor; }

    template <class Handler, class LeaseType, class Work>
    void operator()(Handler&& handler, LeaseType lease, Work work) const
    {
        using Run = LeasedWork<LeaseType, Work, WorkResult<Work, LeaseType>, std::decay_t<Handler>>;
        std::make_shared<Run>(std::move(lease), std::move(work), std::forward<Handler>(handler))->start();
    }
};

} // namespace detail

/** Runs work under a lease: calls `work(lease)`, cancels the coroutine (terminal) when the lease is lost, waits for it
 * to finish, releases the lease, and completes with the result of the work.
 *
 *  The work runs on a strand over the handler's executor; the reference that it gets is valid until it ends.
 *
 *  @param lease  a `Lease` or `Slot`, or another `Holding`
 *  @param work  `asio::awaitable<T>(Lease&)` or `(Slot&)`. g++ 12 destroys a lambda temporary that captures by value
 *    twice inside a co_await expression: name the lambda first, or capture by reference
 *  @par Completion signature  void(std::exception_ptr, T), or void(std::exception_ptr) where T is void
 *  @par Errors  boost::system::system_error(errc::lease_lost): the lease was lost (the work may have noticed that and
 * returned normally); system_error(errc::released): the lease is empty or its release has begun, and the work was not
 * called; any other
 * exception is the work's own
 *  @par Per-operation cancellation  passed on to the work; the release still completes
 */
template <Holding LeaseType, class Work, class CompletionToken = asio::deferred_t>
auto with_lease(LeaseType lease, Work&& work, CompletionToken&& completion = {})
{
    constexpr bool is_work = detail::is_work<Work, LeaseType>();
    static_assert(
        is_work,
        "with_lease: the work must be callable with the Lease& or Slot& and return boost::asio::awaitable<T>, as "
        "a coroutine does");
    if constexpr (is_work) {
        using Signature = typename detail::WorkSignature<detail::WorkResult<Work, LeaseType>>::type;
        auto executor = lease.get_executor();
        return asio::async_initiate<CompletionToken, Signature>(
            detail::InitiateWithLease{std::move(executor)}, completion, std::move(lease), std::forward<Work>(work));
    } else {
        return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(detail::InitiateNothing{}, completion);
    }
}

} // namespace tenure
