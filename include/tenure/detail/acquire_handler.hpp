// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/lease.hpp>

#include <boost/asio/associator.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace tenure::detail
{

/** A user's handler for the result of an acquisition, which the library calls with a lease or none.
 *  @tparam Result  `Lease` or `Slot`, or an optional one */
template <class Result, class Handler>
class AcquireHandler
{
public:
    explicit AcquireHandler(Handler wrapped)
        : handler(std::move(wrapped))
    {
    }

    void operator()(error_code error, Lease lease) { std::move(handler)(error, result_of(std::move(lease))); }

    Handler handler;

private:
    [[nodiscard]] static Result result_of(Lease&& lease) noexcept
    {
        if constexpr (std::is_constructible_v<Result, std::nullopt_t>)
            return lease ? Result(typename Result::value_type(std::move(lease))) : Result(std::nullopt);
        else
            return Result(std::move(lease));
    }
};

} // namespace tenure::detail

/** Executor, allocator and cancellation slot are those of the user's handler. */
template <template <class, class> class Associator, class Result, class Handler, class DefaultCandidate>
struct boost::asio::associator<Associator, tenure::detail::AcquireHandler<Result, Handler>, DefaultCandidate>
    : Associator<Handler, DefaultCandidate> {
    static auto get(tenure::detail::AcquireHandler<Result, Handler> const& handler) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(handler.handler);
    }
    static auto
    get(tenure::detail::AcquireHandler<Result, Handler> const& handler, DefaultCandidate const& candidate) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(handler.handler, candidate);
    }
};
