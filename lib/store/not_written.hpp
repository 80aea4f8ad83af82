// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

namespace tenure
{

/** The failure of a question that wrote nothing: whether it was carried out makes no difference. */
[[nodiscard]] inline Failure not_written(Failure failure) noexcept
{
    if (failure.effect == Failure::Effect::unknown)
        failure.effect = Failure::Effect::not_sent;
    return failure;
}

} // namespace tenure
