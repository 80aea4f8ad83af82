// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::store
{

/** A request of several steps, written as a coroutine that returns its reply.
 *
 *  Each `Step` that it awaits owns the coroutine until the step has completed. A step whose handler is dropped also
 *  drops the coroutine and its reply handler. Everything runs on the strand.
 *
 *  Await named steps only: g++ 12 destroys some temporaries of a `co_await` expression twice. Parameters are taken by
 *  value. */
template <class Reply>
class [[nodiscard]] Request
{
public:
    struct promise_type;
    struct Destroy {
        void operator()(promise_type* promise) const noexcept
        {
            std::coroutine_handle<promise_type>::from_promise(*promise).destroy();
        }
    };
    using Frame = std::unique_ptr<promise_type, Destroy>;

    /** A run of the coroutine, up to its next step or its end. */
    struct Run {
        /// null once a step owns the coroutine
        Frame frame;
        /// thrown by the beginning of that step, which the coroutine itself cannot catch
        std::exception_ptr exception = nullptr;
    };

    struct promise_type {
        ReplyHandler<Reply> handler;
        std::optional<Reply> reply;
        Run* run = nullptr;

        Request get_return_object() noexcept { return Request(Frame(this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_value(Reply value) { reply.emplace(std::move(value)); }
        void unhandled_exception() { throw; }

        static void resume(Frame frame)
        {
            Run run{std::move(frame)};
            run.frame->run = &run;
            std::coroutine_handle<promise_type>::from_promise(*run.frame).resume();
            if (run.exception)
                std::rethrow_exception(run.exception);
            if (run.frame == nullptr)
                return;
            auto reply = std::move(*run.frame->reply);
            finish(std::move(run.frame), std::move(reply));
        }

        static void finish(Frame frame, Reply reply)
        {
            auto handler = std::move(frame->handler);
            frame.reset();
            std::move(handler)(std::move(reply));
        }
    };

    /** Runs it up to its first step. The handler is called after its end, when its locals are destroyed. */
    void start(ReplyHandler<Reply> handler) &&
    {
        frame_->handler = std::move(handler);
        promise_type::resume(std::move(frame_));
    }

private:
    explicit Request(Frame frame) noexcept
        : frame_(std::move(frame))
    {
    }

    Frame frame_;
};

template <class Result>
inline constexpr bool ends_with_failure = false;
template <class Value>
inline constexpr bool ends_with_failure<std::variant<Value, Failure>> = true;

/** An asynchronous operation for a `Request` to await, once.
 *
 *  @tparam Result  `std::variant<Value, Failure>`: awaiting it gives the value, and a failure ends the coroutine as its
 *  reply. Any other type is returned as it is. */
template <class Result>
class Step
{
public:
    using Handler = OneShot<void(Result&&)>;

    /** @param start  begins the operation. It may call its handler inside. If it throws, the coroutine is destroyed and
     *    its reply handler is not called; the exception reaches the caller of `start` or of the last step's handler */
    explicit Step(OneShot<void(Handler)> start)
        : start_(std::move(start))
    {
    }
    Step(Step const&) = delete;
    Step& operator=(Step const&) = delete;
    ~Step() = default;

    /** Translates a failure of this step into the failure of the whole request. */
    void on_failure(std::function<Failure(Failure)> translate) { translate_ = std::move(translate); }

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) noexcept
    {
        auto& run = *waiting.promise().run;
        auto start = std::move(start_);
        try {
            start([this, frame = std::move(run.frame)](Result&& result) mutable {
                if constexpr (may_fail)
                    if (auto* const failure = std::get_if<Failure>(&result)) {
                        Promise::finish(
                            std::move(frame), translate_ ? translate_(std::move(*failure)) : std::move(*failure));
                        return;
                    }
                result_.emplace(std::move(result));
                Promise::resume(std::move(frame));
            });
        } catch (...) {
            // the handler owned the coroutine, so both may be gone: the exception belongs to the caller that ran it
            run.exception = std::current_exception();
        }
    }

    auto await_resume()
    {
        if constexpr (may_fail)
            return std::get<0>(std::move(*result_));
        else
            return std::move(*result_);
    }

private:
    static constexpr bool may_fail = ends_with_failure<Result>;

    OneShot<void(Handler)> start_;
    std::function<Failure(Failure)> translate_;
    std::optional<Result> result_;
};

/** Begins `count` operations at once, and completes with all results, in the order of their indexes.
 *
 *  @param start  called as `start(index, handler)`; an exception of it ends the request, as of any step */
template <class Result, class Start>
[[nodiscard]] Step<std::vector<Result>> all_of(std::size_t count, Start start)
{
    struct Pending {
        std::vector<Result> results;
        std::size_t open;
        OneShot<void(std::vector<Result>&&)> handler;
    };
    return Step<std::vector<Result>>(
        [count, start = std::move(start)](OneShot<void(std::vector<Result>&&)> handler) mutable {
            auto const pending = std::make_shared<Pending>();
            pending->results.resize(count);
            pending->open = count;
            pending->handler = std::move(handler);
            if (count == 0)
                pending->handler({});
            for (std::size_t i = 0; i < count; ++i)
                start(i, [pending, i](Result result) {
                    pending->results[i] = std::move(result);
                    if (--pending->open == 0)
                        pending->handler(std::move(pending->results));
                });
        });
}

/** Continues in the next turn of the loop.
 *  @param runtime  outlives the request */
[[nodiscard]] inline Step<std::monostate> next_turn(Runtime& runtime)
{
    return Step<std::monostate>([&runtime](OneShot<void(std::monostate&&)> handler) {
        runtime.post([handler = std::move(handler)]() mutable { handler({}); });
    });
}

/** A request as a step of another one. */
template <class Result>
[[nodiscard]] Step<Result> as_step(Request<Result> steps)
{
    return Step<Result>([steps = std::move(steps)](ReplyHandler<Result> handler) mutable {
        std::move(steps).start(std::move(handler));
    });
}

} // namespace tenure::store
