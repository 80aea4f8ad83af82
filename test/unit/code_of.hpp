// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/errc.hpp>

#include <boost/system/system_error.hpp>

#include <exception>

namespace tenure::test
{

/** The error code that a coroutine ended with; success if it returned. */
[[nodiscard]] inline error_code code_of(std::exception_ptr const& failure)
{
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (boost::system::system_error const& error) {
        return error.code();
    }
    return {};
}

} // namespace tenure::test
