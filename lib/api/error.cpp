// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// error: an error code with the details of its operation.
#include <tenure/error.hpp>

#include "runtime/error_details.hpp"

#include <string>
#include <utility>

namespace tenure
{

struct error::Text {
    std::string what;
    std::string details;
};

error::error(error_code code, std::string details)
    : system_error(code)
    , text_(std::make_shared<Text const>(
          Text{details.empty() ? code.message() : code.message() + " (" + details + ")", std::move(details)}))
{
}

error::error(error const&) noexcept = default;
error& error::operator=(error const&) noexcept = default;
error::~error() noexcept = default;

char const* error::what() const noexcept
{
    return text_->what.c_str();
}

std::string const& error::details() const noexcept
{
    return text_->details;
}

std::exception_ptr detail::exception_of(error_code code)
{
    auto const details = DeliversDetails::take();
    return std::make_exception_ptr(error(code, details ? *details : std::string()));
}

} // namespace tenure
