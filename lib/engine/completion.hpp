// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/error_details.hpp"
#include "runtime/fork_guard.hpp"
#include "runtime/names.hpp"
#include "runtime/no_executor.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/detail/on_cancel.hpp>
#include <tenure/errc.hpp>
#include <tenure/lease.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associated_immediate_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <optional>
#include <shared_mutex>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tenure::engine
{

using boost::system::error_code;

/** True if both stand for the same io_context, as they usually do. Other kinds of executors would have to be wrapped
 *  for a comparison. */
[[nodiscard]] inline bool
is_same_loop(asio::any_completion_executor const& left, asio::any_io_executor const& right) noexcept
{
    using Loop = asio::io_context::executor_type;
    auto const* const left_loop = left.target<Loop>();
    auto const* const right_loop = right.target<Loop>();
    return left_loop != nullptr && right_loop != nullptr && *left_loop == *right_loop;
}

/** When the result of an operation is known. At once: within the initiating function, which holds no mutex and uses no
 *  object of the user afterwards, because the handler may run inside it. */
enum class Known {
    at_once,
    later,
};

template <class Signature>
class Completion;

/** A user's completion handler that waits for the result of an operation. It keeps the context of its executor running
 *  until then. */
template <class... Results>
class Completion<void(Results...)>
{
public:
    using Handler = asio::any_completion_handler<void(Results...)>;

    /** @param runtime  of the store, whose executor calls handlers without an associated executor; null: the operation
     *  belongs to no store */
    Completion(Handler handler, Runtime const* runtime)
        : waiting_(Waiting::make(
              std::move(handler), runtime != nullptr ? runtime->user_executor() : no_executor(),
              runtime != nullptr && runtime->has_own_thread()))
    {
    }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return waiting_->handler.get_cancellation_slot(); }

    void complete(Known known, Results... results) &&
    {
        if (known == Known::at_once)
            std::move(*this).complete_at_once(std::move(results)...);
        else
            std::move(*this).post(std::move(results)...);
    }

    /** As `Known::at_once` says: calls the handler through its immediate executor, which posts unless the user bound
     *  another. */
    void complete_at_once(Results... results) &&
    {
        auto& waiting = *waiting_;
        auto const immediate = asio::get_associated_immediate_executor(waiting.handler, waiting.default_executor);
        auto const posts = asio::require(waiting.default_executor, asio::execution::blocking_t::never);
        if (immediate == asio::any_completion_executor(posts)) {
            std::move(*this).post(std::move(results)...);
            return;
        }
        waiting.set(std::move(results)...);
        // also if it is the default executor, which this call does not pass through
        if (!waiting.own_executor)
            waiting.own_executor = asio::get_associated_executor(waiting.handler, asio::any_completion_executor());
        asio::dispatch(immediate, CallHandler{std::move(waiting_)});
    }

    /** Calls the handler on its executor, never inside this function and never on the library's strand: slow user code
     *  must not delay renewals. */
    void post(Results... results) &&
    {
        auto& waiting = *waiting_;
        auto const held = waiting.separate_thread ? hold_forks() : std::shared_lock<std::shared_mutex>();
        waiting.set(std::move(results)...);
        // a copy, because the handler may be called before this function ends
        auto const executor = waiting.default_executor;
        CallHandler call{std::move(waiting_)};
        // Posted, not deferred: the calling thread may wait for the result. A loop is recognized by its type, so its
        // executor is not wrapped again for each handler.
        if (auto const* const loop = executor.template target<asio::io_context::executor_type>())
            asio::post(*loop, std::move(call));
        else
            asio::post(executor, std::move(call));
    }

private:
    /** In memory of the handler's allocator. */
    struct Waiting {
        using Associated = asio::associated_allocator_t<Handler>;
        using Allocator = typename std::allocator_traits<Associated>::template rebind_alloc<Waiting>;

        /** Frees the memory, and returns the handler, of which the allocator may be a part. */
        static Handler free(Waiting* waiting) noexcept
        {
            auto handler = std::move(waiting->handler);
            Allocator allocator(asio::get_associated_allocator(handler));
            std::destroy_at(waiting);
            allocator.deallocate(waiting, 1);
            return handler;
        }
        struct Free {
            void operator()(Waiting* waiting) const noexcept { free(waiting); }
        };
        using Ptr = std::unique_ptr<Waiting, Free>;

        [[nodiscard]] static Ptr make(Handler handler, asio::any_io_executor const& executor, bool from_separate_thread)
        {
            // without a fallback, which Asio would wrap again at each query
            auto own = asio::get_associated_executor(handler, asio::any_completion_executor());
            Allocator allocator(asio::get_associated_allocator(handler));
            Ptr waiting(new (allocator.allocate(1)) Waiting);
            waiting->handler = std::move(handler);
            waiting->default_executor = executor;
            waiting->separate_thread = from_separate_thread;
            constexpr auto tracked = asio::execution::outstanding_work_t::tracked;
            if (own && !is_same_loop(own, executor))
                waiting->own_executor = asio::prefer(std::move(own), tracked);
            // a handler with an associated executor passes through the default one, which a store with a separate
            // thread does not keep running
            if (!waiting->own_executor || from_separate_thread)
                waiting->work = asio::prefer(executor, tracked);
            return waiting;
        }

        void set(Results... values)
        {
            results.emplace(std::move(values)...);
            if (error_details_on_thread.failing != nullptr)
                details = *error_details_on_thread.failing;
        }

        Handler handler;
        asio::any_io_executor default_executor;
        /// the store has a thread of its own
        bool separate_thread = false;
        /// the result, once known
        std::optional<std::tuple<Results...>> results;
        /// of the result, if it is a failure
        ErrorDetails details;
        /// the handler's executor, kept running; empty: the default executor calls it
        asio::any_completion_executor own_executor;
        /// keeps the default executor running if the handler needs it
        asio::any_io_executor work;
    };

    /** The function that the default executor calls. From there a handler with an associated executor is dispatched,
     *  because Asio cannot post to an `any_completion_executor`. */
    struct CallHandler {
        typename Waiting::Ptr waiting;

        void operator()()
        {
            auto results = std::move(*waiting->results);
            auto details = std::move(waiting->details);
            auto const own_executor = std::move(waiting->own_executor);
            auto const work = std::move(waiting->work);
            // Asio demands that the memory is free when the handler is called
            auto handler = Waiting::free(waiting.release());
            if (!own_executor) {
                DeliversDetails const delivers(std::move(details));
                std::apply(std::move(handler), std::move(results));
                return;
            }
            asio::dispatch(
                own_executor,
                [handler = std::move(handler), results = std::move(results), details = std::move(details)]() mutable {
                    DeliversDetails const delivers(std::move(details));
                    std::apply(std::move(handler), std::move(results));
                });
        }
    };

    typename Waiting::Ptr waiting_;
};

/** The result that a cancelled call reports. */
template <class Result>
[[nodiscard]] Result unfinished()
{
    if constexpr (std::is_same_v<Result, ReleaseOutcome>)
        return ReleaseOutcome::unconfirmed;
    else
        return Result{};
}

/** A user's asynchronous call that waits for an answer. The answer or the user's cancellation completes it, whichever
 *  reaches the strand first. The requested operation continues without it. */
template <class... Results>
class Call
{
public:
    using Handler = Completion<void(error_code, Results...)>;

    /** Call it on the thread of the initiating call: only that thread may touch the handler's cancellation slot.
     *  @tparam Kind  the created class: this one or a derived one
     *  @param honoured  types of cancellation that complete it */
    template <class Kind = Call>
    [[nodiscard]] static std::shared_ptr<Kind>
    start(Handler handler, std::shared_ptr<Runtime> const& runtime, asio::cancellation_type honoured)
    {
        auto call = std::make_shared<Kind>(std::move(handler));
        auto cancel = [weak = std::weak_ptr(call), runtime = std::weak_ptr(runtime)](asio::cancellation_type) {
            auto const strand = runtime.lock();
            if (auto alive = weak.lock(); alive && strand)
                strand->post([alive] { alive->complete(asio::error::operation_aborted, unfinished<Results>()...); });
        };
        detail::on_cancel(call->handler_->slot(), honoured, std::move(cancel));
        return call;
    }

    /** A call without a handler. */
    Call() = default;
    explicit Call(Handler handler) noexcept
        : handler_(std::move(handler))
    {
    }

    /** On the strand. Later results are dropped. */
    void complete(error_code error, Results... results)
    {
        if (auto handler = std::exchange(handler_, std::nullopt))
            std::move(*handler).post(error, std::move(results)...);
    }

    /** As `Known::at_once` says. */
    void complete_at_once(error_code error, Results... results)
    {
        if (auto handler = std::exchange(handler_, std::nullopt))
            std::move(*handler).complete_at_once(error, std::move(results)...);
    }

    /** Drops the handler without calling it. */
    void forget() noexcept { handler_.reset(); }

    [[nodiscard]] bool done() const noexcept { return !handler_; }

private:
    std::optional<Handler> handler_;
};

/** The error for a caller. A dropped request is reported as unavailable: it got no answer, which proves nothing about
 *  the store. */
[[nodiscard]] inline error_code error_for_caller(Failure const& failure)
{
    return failure.error ? failure.error : make_error_code(errc::store_unavailable);
}

} // namespace tenure::engine
