// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure
{

/** Makes the failure of a read: its effect does not matter, because it wrote nothing. */
[[nodiscard]] inline Failure not_written(Failure failure) noexcept
{
    if (failure.effect == Failure::Effect::unknown)
        failure.effect = Failure::Effect::not_sent;
    return failure;
}

} // namespace tenure
