// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "hold_handler.hpp"

#include <tenure/errc.hpp>

namespace tenure::locks
{

asio::cancellation_slot HoldHandler::slot() const noexcept
{
    return std::visit([](auto const& handler) { return handler.slot(); }, handler_);
}

void HoldHandler::post(error_code error, Hold hold) &&
{
    if (auto* const handler = std::get_if<0>(&handler_)) {
        std::move(*handler).post(error, std::move(hold));
        return;
    }
    if (error == errc::timed_out)
        error = {};
    std::get<1>(std::move(handler_)).post(error, hold ? std::optional(std::move(hold)) : std::nullopt);
}

} // namespace tenure::locks
