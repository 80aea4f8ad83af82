// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// CancellationToken: forwards to the state that all its copies share.
#include <tenure/cancellation_token.hpp>

#include "engine/completion.hpp"
#include "engine/token_state.hpp"
#include "runtime/no_executor.hpp"

#include <tenure/errc.hpp>

namespace tenure
{

std::string_view describe(CancelReason reason) noexcept
{
    switch (reason) {
    case CancelReason::none:
        return "not cancelled";
    case CancelReason::expired:
        return "no renewal succeeded in time";
    case CancelReason::not_owner:
        return "the store proved that the key has another owner or none";
    case CancelReason::first_failed_renewal:
        return "a renewal failed";
    case CancelReason::max_hold:
        return "held for max_hold";
    case CancelReason::store_closed:
        return "the store was closed";
    case CancelReason::released:
        return "released";
    case CancelReason::detached:
        return "detached";
    case CancelReason::rebalanced:
        return "given up to another member of the group";
    }
    return "unknown";
}

CancellationToken::CancellationToken() noexcept = default;
CancellationToken::CancellationToken(StatePtr state) noexcept
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
    return !state_ || state_->cancelled();
}

CancelReason CancellationToken::reason() const noexcept
{
    if (!state_)
        return CancelReason::released;
    // looking first: reason and cancelled() must agree however late the timers are
    return state_->cancelled() ? state_->reason() : CancelReason::none;
}

std::stop_token CancellationToken::stop_token() const
{
    if (state_)
        return state_->stop_token();
    std::stop_source stopped;
    stopped.request_stop();
    return stopped.get_token();
}

CancellationToken::executor_type CancellationToken::executor_of(StatePtr const& state) noexcept
{
    return state ? state->executor() : no_executor();
}

void CancellationToken::start_wait(StatePtr const& state, WaitHandler handler)
{
    engine::Completion<void(error_code)> completion(std::move(handler), state ? &state->runtime() : nullptr);
    if (state)
        engine::TokenState::wait(state, std::move(completion));
    else
        std::move(completion).complete_at_once(error_code());
}

} // namespace tenure
