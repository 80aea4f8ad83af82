// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace tenure
{

struct HolderOptions;
struct StoreOptions;
struct ViewOptions;

namespace detail
{

template <class T, class... Others>
inline constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

/** False for arguments that stand in the place of a completion token by mistake. */
template <class T>
inline constexpr bool may_be_token =
    (std::is_class_v<T> || std::is_function_v<std::remove_pointer_t<T>>) && !is_duration<T> &&
    !std::is_convertible_v<T, std::string_view> &&
    !is_one_of<T, AcquireOptions, HolderOptions, LeaseOptions, StoreOptions, ViewOptions>;

template <class T>
concept HasOneCall = requires { &T::operator(); };

template <class Signature>
struct Takes;
template <class... Results>
struct Takes<void(Results...)> {
    template <class Handler>
    static constexpr bool by = std::is_invocable_v<Handler, Results...>;
};

/** False for a function or a function object with one call operator that does not take the results. Other objects are
 *  tokens, or fit any results. */
template <class T, class Signature>
consteval bool may_take()
{
    if constexpr (HasOneCall<T> || std::is_function_v<std::remove_pointer_t<T>>)
        return Takes<Signature>::template by<T>;
    else
        return true;
}

/** Replaces an operation whose arguments failed a static_assert, so that the assertion is the only error. */
struct InitiateNothing {
    template <class... Arguments>
    void operator()(Arguments&&...) const
    {
    }
};

template <class Signature>
auto initiate_nothing()
{
    boost::asio::deferred_t completion;
    return boost::asio::async_initiate<boost::asio::deferred_t, Signature>(InitiateNothing{}, completion);
}

/** An initiation of Asio: calls `start(state, arguments..., handler)`, and names the executor of handlers without one
 *  of their own. The executor is fetched on demand, because moving one costs a call each time. */
template <auto start, auto executor_of, class State>
struct Initiate {
    State state;
    using executor_type = boost::asio::any_io_executor;
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(state); }
    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) const
    {
        start(state, std::forward<Arguments>(arguments)..., std::forward<Handler>(handler));
    }
};

/** Begins an operation with this signature, as the completion token says.
 *  @tparam start  as in `Initiate`
 *  @tparam executor_of  returns the executor of the state */
template <class Signature, auto start, auto executor_of, class State, class CompletionToken, class... Arguments>
auto initiate(State const& state, CompletionToken&& completion, Arguments&&... arguments)
{
    constexpr bool is_token = may_be_token<std::decay_t<CompletionToken>>;
    static_assert(
        is_token,
        "tenure: the last argument of an operation is a completion token, such as boost::asio::use_awaitable or a "
        "handler. Options and durations come before it, and a wait for `async_acquire` is its first argument");
    constexpr bool takes_results = may_take<std::decay_t<CompletionToken>, Signature>();
    static_assert(
        !is_token || takes_results,
        "tenure: the handler must be callable with the results of the operation: see `Completion signature` in its "
        "documentation, for example void(error_code, Lease) for Lock::async_acquire");
    if constexpr (is_token && takes_results)
        return boost::asio::async_initiate<CompletionToken, Signature>(
            Initiate<start, executor_of, State>{state}, completion, std::forward<Arguments>(arguments)...);
    else
        return initiate_nothing<Signature>();
}

} // namespace detail
} // namespace tenure
