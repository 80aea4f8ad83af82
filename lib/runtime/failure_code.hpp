// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/system/system_error.hpp>

#include <exception>

namespace tenure
{

/** The error code that the exception carries. Success: it is null, or carries none. */
[[nodiscard]] inline boost::system::error_code code_of(std::exception_ptr const& failure)
{
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (boost::system::system_error const& thrown) {
        return thrown.code();
    } catch (...) { // NOLINT(bugprone-empty-catch): it carries no code
    }
    return {};
}

} // namespace tenure
