// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/task_group.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tenure::detail
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

/** Whether the work takes a `TaskGroup&` after the lease. */
template <class Work, class LeaseType>
inline constexpr bool takes_tasks = !std::is_invocable_v<std::decay_t<Work>&, LeaseType&> &&
                                    std::is_invocable_v<std::decay_t<Work>&, LeaseType&, TaskGroup&>;

/** What the work returns: an awaitable or another deferred operation. */
template <class Work, class LeaseType>
struct WorkOperation : std::invoke_result<std::decay_t<Work>&, LeaseType&> {
};
template <class Work, class LeaseType>
    requires takes_tasks<Work, LeaseType>
struct WorkOperation<Work, LeaseType> : std::invoke_result<std::decay_t<Work>&, LeaseType&, TaskGroup&> {
};

/** The result type of awaiting the work. */
template <class Work, class LeaseType>
using WorkResult =
    typename AwaitedType<decltype(as_awaitable(std::declval<typename WorkOperation<Work, LeaseType>::type>()))>::type;

/** Whether the work returns an awaitable or another deferred operation. */
template <class Work, class LeaseType>
consteval bool is_work()
{
    if constexpr (std::is_invocable_v<std::decay_t<Work>&, LeaseType&> || takes_tasks<Work, LeaseType>) {
        using Operation = typename WorkOperation<Work, LeaseType>::type;
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

/** Whether the work is an awaitable without a result. */
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
    using Values = std::tuple<T>;
};
template <>
struct WorkSignature<void> {
    using type = void(std::exception_ptr);
    using Values = std::tuple<>;
};

/** Work whose function lives as long as its tasks. */
template <class Work>
struct SharedWork {
    std::shared_ptr<Work> work;

    template <class LeaseType>
    auto operator()(LeaseType& lease, TaskGroup& tasks) const
    {
        return std::invoke(*work, lease, tasks);
    }
};

} // namespace tenure::detail
