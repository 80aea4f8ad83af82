// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <optional>
#include <utility>

namespace tenure::engine
{

/** True for the result of a try, which is an optional lease. */
template <class Result>
inline constexpr bool is_try_result = false;
template <class LeaseType>
inline constexpr bool is_try_result<std::optional<LeaseType>> = true;

/** What the user's handler gets for an acquired lease, or for an empty one. */
struct AcquireResult {
    template <class Result, class Acquired>
    [[nodiscard]] static Result from(Acquired acquired) noexcept
    {
        if constexpr (!is_try_result<Result>)
            return Result(std::move(acquired));
        else if (acquired.empty())
            return std::nullopt;
        else
            return typename Result::value_type(std::move(acquired));
    }
};

} // namespace tenure::engine
