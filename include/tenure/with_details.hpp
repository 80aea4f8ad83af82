// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/errc.hpp>
#include <tenure/error.hpp>

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace tenure
{

/** The completion token that `with_details` returns. */
template <class CompletionToken>
class WithDetails
{
public:
    /** @param completion  takes the result */
    explicit WithDetails(CompletionToken completion)
        : completion_(std::move(completion))
    {
    }

    /** The adapted token. */
    [[nodiscard]] CompletionToken& completion() noexcept { return completion_; }

private:
    CompletionToken completion_;
};

/** Adapts a completion token: the operation completes with an `std::exception_ptr` in the place of its `error_code`.
 *  The exception is a `tenure::error`, with the details of this operation.
 *
 *  ```
 *  tenure::Lease lease = co_await lock.async_acquire(5s, tenure::with_details());
 *  ```
 *  Under `use_awaitable` and `deferred` a plain operation throws a `system_error` without details, because it
 *  completes with an `error_code`.
 *
 *  @param completion  the token or handler, for `void(std::exception_ptr, ...)`
 */
template <class CompletionToken = boost::asio::deferred_t>
[[nodiscard]] auto with_details(CompletionToken&& completion = {})
{
    return WithDetails<std::decay_t<CompletionToken>>(std::forward<CompletionToken>(completion));
}

namespace detail
{

/** Makes an exception of the error code. */
template <class Handler>
struct DetailsHandler {
    Handler handler;

    template <class... Results>
    void operator()(error_code code, Results&&... results)
    {
        std::move(handler)(code ? exception_of(code) : std::exception_ptr(), std::forward<Results>(results)...);
    }
};

/** The executor of an initiation that has one. */
template <class Initiation>
struct DetailsExecutor {
};
template <class Initiation>
    requires requires { typename Initiation::executor_type; }
struct DetailsExecutor<Initiation> {
    using executor_type = typename Initiation::executor_type;
};

/** Begins the operation with the adapted handler. */
template <class Initiation>
struct DetailsInitiation : DetailsExecutor<Initiation> {
    explicit DetailsInitiation(Initiation begins)
        : initiation(std::move(begins))
    {
    }

    [[nodiscard]] auto get_executor() const noexcept
        requires requires(Initiation const& it) { it.get_executor(); }
    {
        return initiation.get_executor();
    }

    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments)
    {
        std::move(initiation)(
            DetailsHandler<std::decay_t<Handler>>{std::forward<Handler>(handler)},
            std::forward<Arguments>(arguments)...);
    }

    Initiation initiation;
};

} // namespace detail
} // namespace tenure

// Specialisations for Asio, which users never name.
/// @cond

template <class CompletionToken, class... Results>
class boost::asio::async_result<tenure::WithDetails<CompletionToken>, void(boost::system::error_code, Results...)>
{
public:
    template <class Initiation, class Token, class... Arguments>
    static auto initiate(Initiation&& initiation, Token&& token, Arguments&&... arguments)
    {
        return async_initiate<CompletionToken, void(std::exception_ptr, Results...)>(
            tenure::detail::DetailsInitiation<std::decay_t<Initiation>>(std::forward<Initiation>(initiation)),
            token.completion(), std::forward<Arguments>(arguments)...);
    }
};

/** Executor, allocator and cancellation slot are those of the user's handler. */
template <template <class, class> class Associator, class Handler, class DefaultCandidate>
struct boost::asio::associator<Associator, tenure::detail::DetailsHandler<Handler>, DefaultCandidate>
    : Associator<Handler, DefaultCandidate> {
    static auto get(tenure::detail::DetailsHandler<Handler> const& outer) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(outer.handler);
    }
    static auto get(tenure::detail::DetailsHandler<Handler> const& outer, DefaultCandidate const& candidate) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(outer.handler, candidate);
    }
};
/// @endcond
