// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/errc.hpp>

namespace tenure::engine
{

/** The error for a caller. A dropped request is reported as unavailable: it proves nothing about the store, but got no
 * answer.
 */
[[nodiscard]] inline error_code error_for_caller(Failure const& failure)
{
    return failure.error ? failure.error : make_error_code(errc::store_unavailable);
}

} // namespace tenure::engine
