// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/errc.hpp>

namespace tenure::engine
{

/** What a caller is told: a request that was dropped says nothing about the store, but no answer came from it either.
 */
[[nodiscard]] inline error_code error_for_caller(Failure const& failure)
{
    return failure.error ? failure.error : make_error_code(errc::store_unavailable);
}

} // namespace tenure::engine
