// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"

#include <tenure/errc.hpp>
#include <tenure/hold.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace tenure::locks
{

/** Who waits for a Hold. An optional one is that of a try. */
class HoldHandler
{
public:
    template <class Result>
    HoldHandler(asio::any_completion_handler<void(error_code, Result)> handler, asio::any_io_executor const& executor)
        : handler_(Completion<void(error_code, Result)>(std::move(handler), executor))
    {
    }

    [[nodiscard]] bool is_try() const noexcept { return handler_.index() == 1; }
    [[nodiscard]] asio::cancellation_slot slot() const noexcept;
    void post(error_code error, Hold hold = {}) &&;

private:
    std::variant<Completion<void(error_code, Hold)>, Completion<void(error_code, std::optional<Hold>)>> handler_;
};

} // namespace tenure::locks
