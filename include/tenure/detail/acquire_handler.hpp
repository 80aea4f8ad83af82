// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/associator.hpp>
#include <boost/system/error_code.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace tenure::detail
{

/** Wraps a user's handler for an acquisition; the library calls it with the acquired object, or an empty one.
 *  @tparam Result  `Lease`, `Slot` or `LeaseSet`, or an optional one */
template <class Result, class Handler>
class AcquireHandler
{
public:
    explicit AcquireHandler(Handler wrapped)
        : handler(std::move(wrapped))
    {
    }

    template <class Acquired>
    void operator()(boost::system::error_code error, Acquired acquired)
    {
        std::move(handler)(error, result_of(std::move(acquired)));
    }

    Handler handler;

private:
    template <class Acquired>
    [[nodiscard]] static Result result_of(Acquired&& acquired) noexcept
    {
        if constexpr (std::is_constructible_v<Result, std::nullopt_t>)
            return acquired ? Result(typename Result::value_type(std::forward<Acquired>(acquired)))
                            : Result(std::nullopt);
        else
            return Result(std::forward<Acquired>(acquired));
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
