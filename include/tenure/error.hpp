// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/errc.hpp>

#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <string>

namespace tenure
{

/** A failed operation, as an exception: its code, and the details of this operation. Thrown by operations that complete
 * with an `std::exception_ptr`, and by every other one under `with_details`.
 *
 *  `what()` is the message of the code, followed by the details in parentheses. */
class TENURE_API error : public boost::system::system_error
{
public:
    /** @param details  empty: there are none */
    explicit error(error_code code, std::string details = std::string());
    /** A copy shares the text. */
    error(error const&) noexcept;
    /** A copy shares the text. */
    error& operator=(error const&) noexcept;
    ~error() noexcept override;

    /** The message and the details. */
    [[nodiscard]] char const* what() const noexcept override;
    /** The server's message, the node, the key and the remedy, for people; never a secret. Empty if there are none. */
    [[nodiscard]] std::string const& details() const noexcept;

private:
    struct Text;
    /// shared, so that copies do not throw
    std::shared_ptr<Text const> text_;
};

namespace detail
{

/** In the handler of a failed operation: the exception with its details. */
[[nodiscard]] TENURE_API std::exception_ptr exception_of(error_code code);

} // namespace detail
} // namespace tenure
