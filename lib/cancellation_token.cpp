// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/cancellation_token.hpp>

#include "engine/token_state.hpp"
#include "no_executor.hpp"

#include <tenure/errc.hpp>

namespace tenure
{

std::string_view to_string(LossReason reason) noexcept
{
    switch (reason) {
    case LossReason::none:
        return "not lost";
    case LossReason::expired:
        return "no renewal succeeded in time";
    case LossReason::lost:
        return "the store proved that the key is not ours any more";
    case LossReason::first_failed_renewal:
        return "a renewal failed";
    case LossReason::max_hold:
        return "held for max_hold";
    case LossReason::store_closed:
        return "the store was closed";
    }
    return "unknown";
}

CancellationToken::CancellationToken() noexcept = default;
CancellationToken::CancellationToken(std::shared_ptr<engine::TokenState> state) noexcept
    : state_(std::move(state))
{
}
CancellationToken::CancellationToken(CancellationToken const&) noexcept = default;
CancellationToken::CancellationToken(CancellationToken&&) noexcept = default;
CancellationToken& CancellationToken::operator=(CancellationToken const&) noexcept = default;
CancellationToken& CancellationToken::operator=(CancellationToken&&) noexcept = default;
CancellationToken::~CancellationToken() = default;

bool CancellationToken::cancelled() const noexcept
{
    return state_ && state_->cancelled();
}

LossReason CancellationToken::reason() const noexcept
{
    // looking first: reason and cancelled() must agree however late the timers are
    return cancelled() ? state_->reason() : LossReason::none;
}

std::stop_token CancellationToken::stop_token() const
{
    return state_ ? state_->stop_token() : std::stop_token();
}

CancellationToken::executor_type CancellationToken::get_executor() const noexcept
{
    return state_ ? state_->executor() : no_executor();
}

void CancellationToken::start_wait(std::shared_ptr<engine::TokenState> const& state, WaitHandler handler)
{
    if (state)
        engine::TokenState::wait(state, std::move(handler));
    else
        engine::PendingHandler<void(error_code)>(std::move(handler)).post(make_error_code(errc::released));
}

} // namespace tenure
