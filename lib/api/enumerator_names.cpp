// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The names of enumerators whose types have no source of their own.
#include <tenure/backend/backend.hpp>
#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/inspection.hpp>
#include <tenure/options.hpp>

#include <string_view>

namespace tenure
{

std::string_view to_string(CancelWhen when) noexcept
{
    switch (when) {
    case CancelWhen::loss:
        return "loss";
    case CancelWhen::first_failed_renewal:
        return "first_failed_renewal";
    }
    return "unknown";
}

std::string_view to_string(Renewal renewal) noexcept
{
    switch (renewal) {
    case Renewal::automatic:
        return "automatic";
    case Renewal::manual:
        return "manual";
    }
    return "unknown";
}

std::string_view to_string(Order order) noexcept
{
    switch (order) {
    case Order::unchecked:
        return "unchecked";
    case Order::checked:
        return "checked";
    }
    return "unknown";
}

std::string_view to_string(KeyState::Kind kind) noexcept
{
    switch (kind) {
    case KeyState::Kind::free:
        return "free";
    case KeyState::Kind::held:
        return "held";
    case KeyState::Kind::resting:
        return "resting";
    case KeyState::Kind::kept:
        return "kept";
    case KeyState::Kind::foreign:
        return "foreign";
    }
    return "unknown";
}

std::string_view to_string(Finding::Severity severity) noexcept
{
    switch (severity) {
    case Finding::Severity::ok:
        return "ok";
    case Finding::Severity::unverified:
        return "unverified";
    case Finding::Severity::warning:
        return "warning";
    case Finding::Severity::error:
        return "error";
    }
    return "unknown";
}

std::string_view to_string(Leader::State state) noexcept
{
    switch (state) {
    case Leader::State::unknown:
        return "unknown";
    case Leader::State::none:
        return "none";
    case Leader::State::present:
        return "present";
    case Leader::State::stale:
        return "stale";
    }
    return "unknown";
}

std::string_view to_string(errc value) noexcept
{
    switch (value) {
    case errc::timed_out:
        return "timed_out";
    case errc::store_unavailable:
        return "store_unavailable";
    case errc::store_refused:
        return "store_refused";
    case errc::authentication_failed:
        return "authentication_failed";
    case errc::permission_denied:
        return "permission_denied";
    case errc::wrong_database:
        return "wrong_database";
    case errc::wrong_server:
        return "wrong_server";
    case errc::tls_failed:
        return "tls_failed";
    case errc::protocol_error:
        return "protocol_error";
    case errc::key_conflict:
        return "key_conflict";
    case errc::ttl_too_short:
        return "ttl_too_short";
    case errc::lease_lost:
        return "lease_lost";
    case errc::released:
        return "released";
    case errc::closed:
        return "closed";
    case errc::forked:
        return "forked";
    case errc::not_replicated:
        return "not_replicated";
    case errc::out_of_order:
        return "out_of_order";
    case errc::would_deadlock:
        return "would_deadlock";
    }
    return "unknown";
}

std::string_view to_string(condition value) noexcept
{
    switch (value) {
    case condition::busy:
        return "busy";
    case condition::try_later:
        return "try_later";
    case condition::misconfigured:
        return "misconfigured";
    }
    return "unknown";
}

namespace backend
{

std::string_view to_string(Failure::Effect effect) noexcept
{
    switch (effect) {
    case Failure::Effect::refused:
        return "refused";
    case Failure::Effect::not_sent:
        return "not_sent";
    case Failure::Effect::unknown:
        return "unknown";
    }
    return "unknown";
}

std::string_view to_string(Waits waits) noexcept
{
    switch (waits) {
    case Waits::no:
        return "no";
    case Waits::in_line:
        return "in_line";
    case Waits::in_front:
        return "in_front";
    }
    return "unknown";
}

std::string_view to_string(WatchEvent event) noexcept
{
    switch (event) {
    case WatchEvent::in_force:
        return "in_force";
    case WatchEvent::hint:
        return "hint";
    case WatchEvent::our_turn:
        return "our_turn";
    case WatchEvent::others_turn:
        return "others_turn";
    case WatchEvent::interrupted:
        return "interrupted";
    case WatchEvent::unavailable:
        return "unavailable";
    }
    return "unknown";
}

std::string_view to_string(WatchAs as) noexcept
{
    switch (as) {
    case WatchAs::waiter:
        return "waiter";
    case WatchAs::observer:
        return "observer";
    }
    return "unknown";
}

} // namespace backend
} // namespace tenure
