// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/lease.hpp>

#include <boost/asio/detached.hpp>

#include <concepts>
#include <utility>

namespace tenure
{

/** An acquired object that `async_with_lease` and `async_run` can hold around work: it has a validity and can be
 * released. `Lease` and `Slot` are examples. */
template <class T>
concept LeaseLike = std::movable<T> && requires(T held, T const& seen) {
    { seen.empty() } -> std::same_as<bool>;
    { seen.valid() } -> std::same_as<bool>;
    { seen.valid_until() } -> std::same_as<Instant>;
    { seen.token() } -> std::same_as<CancellationToken>;
    seen.get_executor();
    held.async_release(boost::asio::detached);
};

} // namespace tenure
