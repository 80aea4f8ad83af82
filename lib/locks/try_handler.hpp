// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/acquire_result.hpp"
#include "runtime/names.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associator.hpp>
#include <boost/system/error_code.hpp>

#include <optional>
#include <utility>

namespace tenure::locks
{

/** The user's handler of a try, for code that hands out a lease or an empty one. */
template <class LeaseType>
struct TryHandler {
    asio::any_completion_handler<void(boost::system::error_code, std::optional<LeaseType>)> handler;

    void operator()(boost::system::error_code error, LeaseType lease)
    {
        std::move(handler)(error, engine::AcquireResult::from<std::optional<LeaseType>>(std::move(lease)));
    }
};

/** The same handler, for an acquisition that is no try. */
template <class LeaseType>
[[nodiscard]] auto plain_handler(asio::any_completion_handler<void(boost::system::error_code, LeaseType)> handler)
{
    return handler;
}
template <class LeaseType>
[[nodiscard]] auto
plain_handler(asio::any_completion_handler<void(boost::system::error_code, std::optional<LeaseType>)> handler)
{
    return asio::any_completion_handler<void(boost::system::error_code, LeaseType)>(
        TryHandler<LeaseType>{std::move(handler)});
}

} // namespace tenure::locks

/** Executor, allocator and cancellation slot are those of the user's handler. */
template <template <class, class> class Associator, class LeaseType, class DefaultCandidate>
struct boost::asio::associator<Associator, tenure::locks::TryHandler<LeaseType>, DefaultCandidate>
    : Associator<decltype(tenure::locks::TryHandler<LeaseType>::handler), DefaultCandidate> {
    using Inner = Associator<decltype(tenure::locks::TryHandler<LeaseType>::handler), DefaultCandidate>;
    static auto get(tenure::locks::TryHandler<LeaseType> const& outer) noexcept { return Inner::get(outer.handler); }
    static auto get(tenure::locks::TryHandler<LeaseType> const& outer, DefaultCandidate const& candidate) noexcept
    {
        return Inner::get(outer.handler, candidate);
    }
};
