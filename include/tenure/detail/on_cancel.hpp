// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <utility>

namespace tenure::detail
{

namespace asio = boost::asio;

/// honoured by operations that leave no side effect when they are cancelled
inline constexpr auto every_cancellation =
    asio::cancellation_type::terminal | asio::cancellation_type::partial | asio::cancellation_type::total;
/// honoured by operations that may have changed the store: `total` promises the caller that nothing was changed
inline constexpr auto partial_cancellation = asio::cancellation_type::terminal | asio::cancellation_type::partial;

/** Whether an operation that honours these types ends. By a mask, because `cancellation_type::all` has every bit. */
[[nodiscard]] constexpr bool ends_by(asio::cancellation_type type, asio::cancellation_type honoured) noexcept
{
    return (type & honoured) != asio::cancellation_type::none;
}

/** Calls `function(type)` for each cancellation of an honoured type. */
template <class Function>
void on_cancel(asio::cancellation_slot slot, asio::cancellation_type honoured, Function function)
{
    if (slot.is_connected())
        slot.assign([honoured, function = std::move(function)](asio::cancellation_type type) mutable {
            if (ends_by(type, honoured))
                function(type);
        });
}

} // namespace tenure::detail
