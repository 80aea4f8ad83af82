// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/handler_executor.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/detail/on_cancel.hpp>
#include <tenure/errc.hpp>
#include <tenure/lease_like.hpp>

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
#include <boost/asio/use_awaitable.hpp>
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
struct AwaitedType<boost::asio::awaitable<T, Executor>> {
    using type = T;
};

template <class T>
inline constexpr bool is_awaitable = false;
template <class T, class Executor>
inline constexpr bool is_awaitable<boost::asio::awaitable<T, Executor>> = true;

/** Makes an awaitable of a deferred operation. */
template <class Operation>
[[nodiscard]] auto as_awaitable(Operation&& operation)
{
    if constexpr (is_awaitable<std::decay_t<Operation>>)
        return std::forward<Operation>(operation);
    else
        return std::forward<Operation>(operation)(boost::asio::use_awaitable);
}

/** The result type of awaiting `work(lease)`. */
template <class Work, class LeaseType>
using WorkResult = typename AwaitedType<decltype(as_awaitable(
    std::declval<std::invoke_result_t<std::decay_t<Work>&, LeaseType&>>()))>::type;

/** Whether `work(lease)` is an awaitable or another deferred operation. */
template <class Work, class LeaseType>
consteval bool is_work()
{
    if constexpr (std::is_invocable_v<std::decay_t<Work>&, LeaseType&>) {
        using Operation = std::invoke_result_t<std::decay_t<Work>&, LeaseType&>;
        if constexpr (is_awaitable<Operation>)
            return true;
        else if constexpr (std::is_invocable_v<Operation, boost::asio::use_awaitable_t<>>)
            return is_awaitable<std::invoke_result_t<Operation, boost::asio::use_awaitable_t<>>>;
        else
            return false;
    } else {
        return false;
    }
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
        auto cancel = [weak = std::weak_ptr(self)](boost::asio::cancellation_type type) {
            if (auto alive = weak.lock())
                boost::asio::dispatch(alive->strand_, [alive, type] { alive->cancel_work_.emit(type); });
        };
        on_cancel(boost::asio::get_associated_cancellation_slot(handler_), every_cancellation, std::move(cancel));
        boost::asio::dispatch(strand_, [self] { self->spawn(); });
    }

private:
    void spawn()
    {
        auto self = this->shared_from_this();
        // empty, or given away before by a release or detachment
        if (lease_.empty() || (token_.cancelled() && !is_loss(token_.reason()))) {
            finished(std::make_exception_ptr(boost::system::system_error(make_error_code(errc::released))), Value{});
            return;
        }
        // started on the strand, so that its handler runs only after the work has begun
        token_.async_wait(boost::asio::bind_cancellation_slot(
            stop_waiting_.slot(), boost::asio::bind_executor(strand_, [self](error_code error) {
                // work that releases its own lease continues
                if (!error && is_loss(self->token_.reason()))
                    self->cancel_work_.emit(boost::asio::cancellation_type::terminal);
            })));
        auto cancellable = [&](auto handler) {
            return boost::asio::bind_cancellation_slot(
                cancel_work_.slot(), boost::asio::bind_executor(strand_, std::move(handler)));
        };
        try {
            if constexpr (std::is_void_v<Result>)
                boost::asio::co_spawn(
                    strand_, as_awaitable(std::invoke(work_, lease_)),
                    cancellable([self](std::exception_ptr failure) { self->finished(failure, true); }));
            else
                boost::asio::co_spawn(
                    strand_, as_awaitable(std::invoke(work_, lease_)),
                    cancellable([self](std::exception_ptr failure, Result value) {
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
        stop_waiting_.emit(boost::asio::cancellation_type::terminal);
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.clear();
        // the caller cannot cancel the release: the work has ended, and the answer takes one round trip
        lease_.async_release(boost::asio::bind_executor(
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
                if (error.code() != boost::asio::error::operation_aborted)
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
            boost::asio::dispatch(completes_on_, [handler, failure = failure_] { std::move (*handler)(failure); });
        else
            boost::asio::dispatch(completes_on_, [handler, failure = failure_, value = std::move(*value_)]() mutable {
                std::move (*handler)(failure, std::move(value));
            });
    }

    LeaseType lease_;
    Work work_;
    Handler handler_;
    CancellationToken token_;
    /// the handler's executor; kept running until the handler is called
    decltype(completion_executor(
        std::declval<Handler const&>(), std::declval<boost::asio::any_io_executor const&>())) completes_on_;
    /// everything here runs on it
    boost::asio::strand<boost::asio::any_io_executor> strand_;
    /// ends the work
    boost::asio::cancellation_signal cancel_work_;
    /// ends the wait for the cancellation token
    boost::asio::cancellation_signal stop_waiting_;
    std::exception_ptr failure_;
    std::optional<Value> value_;
};

inline constexpr auto executor_itself = [](boost::asio::any_io_executor const& executor) { return executor; };

inline constexpr auto start_with_lease = [](boost::asio::any_io_executor const&, auto lease, auto work, auto handler) {
    using Result = WorkResult<decltype(work), decltype(lease)>;
    using Run = LeasedWork<decltype(lease), decltype(work), Result, decltype(handler)>;
    std::make_shared<Run>(std::move(lease), std::move(work), std::move(handler))->start();
};

} // namespace detail

/** Runs work under a lease: calls `work(lease)`, cancels the coroutine (terminal) when the lease is lost, waits for it
 * to finish, releases the lease, and completes with the result of the work.
 *
 *  The work runs on a strand over the handler's executor; the reference that it gets is valid until it ends.
 *
 *  @param lease  a `Lease` or `Slot`, or another `LeaseLike`
 *  @param work  `asio::awaitable<T>(Lease&)` or `(Slot&)`, or a function that returns another deferred operation, whose
 *    result under `asio::use_awaitable` is T. g++ 12 destroys a lambda temporary that captures by value twice inside a
 *    co_await expression: name the lambda first, or capture by reference
 *  @par Completion signature  void(std::exception_ptr, T), or void(std::exception_ptr) where T is void
 *  @par Errors  boost::system::system_error(errc::lease_lost): the lease was lost (the work may have noticed that and
 * returned normally); system_error(errc::released): the lease is empty or its release has begun, and the work was not
 * called; any other
 * exception is the work's own
 *  @par Per-operation cancellation  terminal, partial, total: passed on to the work, which decides, because it may have
 * side effects; the release still completes
 */
template <LeaseLike LeaseType, class Work, class CompletionToken = boost::asio::deferred_t>
[[nodiscard]] auto async_with_lease(LeaseType lease, Work&& work, CompletionToken&& completion = {})
{
    constexpr bool is_work = detail::is_work<Work, LeaseType>();
    static_assert(
        is_work,
        "async_with_lease: the work must be callable with the lease, for example with a Lease& or Slot&, and return "
        "boost::asio::awaitable<T>, as a coroutine does, or another deferred operation");
    if constexpr (is_work) {
        using Signature = typename detail::WorkSignature<detail::WorkResult<Work, LeaseType>>::type;
        auto const executor = boost::asio::any_io_executor(lease.get_executor());
        return detail::initiate<Signature, detail::start_with_lease, detail::executor_itself>(
            executor, std::forward<CompletionToken>(completion), std::move(lease), std::forward<Work>(work));
    } else {
        return detail::initiate_nothing<void(std::exception_ptr)>();
    }
}

} // namespace tenure
