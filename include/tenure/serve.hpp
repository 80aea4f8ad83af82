// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/handler_executor.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/detail/served_operation.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure
{

/** Options of `async_serve`. Trivially destructible on purpose: safe as a temporary inside a co_await expression. */
struct ServeOptions {
    /// how long the operations may go on after they got `total`, until they get `terminal`. 0 or more; 0:
    /// `terminal` follows at once. `terminal` also ends the drain of a `TaskGroup`
    std::chrono::milliseconds drain{0};
    /// the timeout of `Store::async_close`
    std::chrono::milliseconds close_within{5'000};
    /// the signals that end the service; 0: none
    std::array<int, 2> signals{SIGINT, SIGTERM};
};

namespace detail
{

/** Starts `async_serve`. */
struct TENURE_API Serve {
    /** @param executor  the handler's, for the operations */
    static void start(
        Store const& store, ServeOptions const& options, std::vector<std::unique_ptr<ServedOperation>> operations,
        boost::asio::any_io_executor const& executor,
        boost::asio::any_completion_handler<void(std::exception_ptr)> handler);
};

inline constexpr auto executor_of_store = [](Store const& store) { return store.get_executor(); };
inline constexpr auto start_serve = [](Store const& store, ServeOptions const& options, auto operations, auto handler) {
    auto const executor = handler_executor(handler, store.get_executor());
    Serve::start(store, options, std::move(operations), executor, std::move(handler));
};

/** @param completion  the token, at most one */
template <class Operations, std::size_t... operation, class CompletionToken>
auto serve(
    Store const& store, ServeOptions const& options, Operations const& arguments, std::index_sequence<operation...>,
    CompletionToken&& completion)
{
    static_assert(
        sizeof...(operation) > 0 && (is_operation<std::tuple_element_t<operation, Operations>> && ...),
        "async_serve: after the options come deferred operations, such as async_run(pool, work), coroutines, or "
        "functions without parameters that return one; the completion token comes last");
    std::vector<std::unique_ptr<ServedOperation>> operations;
    (operations.push_back(
         served(std::forward<std::tuple_element_t<operation, Operations>>(std::get<operation>(arguments)))),
     ...);
    return initiate<void(std::exception_ptr), start_serve, executor_of_store>(
        store, std::forward<CompletionToken>(completion), options, std::move(operations));
}

} // namespace detail

/** Runs a service: the operations, until one fails, all have ended, or a signal ends them; then ends them in order and
 *  closes the store.
 *
 *  ```
 *  co_await async_serve(store, {.drain = 10s}, async_run(pool, serve));
 *  ```
 *  At the end every operation gets `total`, and after `drain` or at a second signal `terminal`. When all have ended, or
 *  one second after `terminal`, the store is closed (`Store::async_close`). So a service ends within `drain` +
 *  `close_within` + 1 s, even if an operation ignores its cancellation. A store that is unavailable ends no service:
 *  `async_run` waits for it, and a wrong password fails at once.
 *
 *  @param store  of the leases; its executor is the default
 *  @param arguments  operations, then at most one completion token. An operation is a deferred one of any kind, such as
 *    `async_run(pool, work)`, an `asio::awaitable`, or a function that returns one. Each runs on a strand of its own
 *    over the handler's executor
 *  @par Completion signature  void(std::exception_ptr)
 *  @par Errors  null: a signal or the caller ended it, or all operations have ended; else the failure of the operation
 *    that failed first, a `tenure::error` with the server's words if it is an error of the store
 *  @par Per-operation cancellation  terminal, partial, total: as a signal
 */
template <class... Arguments>
[[nodiscard]] auto async_serve(Store const& store, ServeOptions const& options, Arguments&&... arguments)
{
    constexpr auto count = sizeof...(Arguments);
    auto all = std::forward_as_tuple(std::forward<Arguments>(arguments)...);
    if constexpr (count > 0) {
        using Last = std::tuple_element_t<count - 1, decltype(all)>;
        if constexpr (!detail::is_operation<Last>)
            return detail::serve(
                store, options, all, std::make_index_sequence<count - 1>(),
                std::forward<Last>(std::get<count - 1>(all)));
        else
            return detail::serve(store, options, all, std::make_index_sequence<count>(), boost::asio::deferred_t());
    } else {
        return detail::serve(store, options, all, std::index_sequence<>(), boost::asio::deferred_t());
    }
}

} // namespace tenure
