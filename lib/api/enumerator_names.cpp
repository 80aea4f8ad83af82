// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The names of all public enumerators.
#include "enumerator_name.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/cancellation_token.hpp>
#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/event.hpp>
#include <tenure/holder.hpp>
#include <tenure/inspection.hpp>
#include <tenure/lease.hpp>
#include <tenure/log.hpp>
#include <tenure/metrics.hpp>
#include <tenure/metrics_page.hpp>
#include <tenure/options.hpp>
#include <tenure/shard_group.hpp>

namespace tenure
{

std::string_view to_string(CancelReason reason) noexcept
{
    return enumerator_name(reason);
}

std::string_view to_string(CancelWhen when) noexcept
{
    return enumerator_name(when);
}

std::string_view to_string(condition value) noexcept
{
    return enumerator_name(value);
}

std::string_view to_string(errc value) noexcept
{
    return enumerator_name(value);
}

std::string_view to_string(Event::Kind kind) noexcept
{
    return enumerator_name(kind);
}

std::string_view to_string(Finding::Severity severity) noexcept
{
    return enumerator_name(severity);
}

std::string_view to_string(KeyState::Kind kind) noexcept
{
    return enumerator_name(kind);
}

std::string_view to_string(Leader::State state) noexcept
{
    return enumerator_name(state);
}

std::string_view to_string(LeaseState state) noexcept
{
    return enumerator_name(state);
}

std::string_view to_string(LogLevel level) noexcept
{
    return enumerator_name(level);
}

std::string_view to_string(MetricFamily::Type type) noexcept
{
    return enumerator_name(type);
}

std::string_view to_string(NameMetrics::Kind kind) noexcept
{
    return enumerator_name(kind);
}

std::string_view to_string(Order order) noexcept
{
    return enumerator_name(order);
}

std::string_view to_string(ReleaseOutcome outcome) noexcept
{
    return enumerator_name(outcome);
}

std::string_view to_string(Renewal renewal) noexcept
{
    return enumerator_name(renewal);
}

std::string_view to_string(RequestKind kind) noexcept
{
    return enumerator_name(kind);
}

std::string_view to_string(RequestOutcome outcome) noexcept
{
    return enumerator_name(outcome);
}

std::string_view to_string(ShardEvent::Kind kind) noexcept
{
    return enumerator_name(kind);
}

namespace backend
{

std::string_view to_string(Failure::Effect effect) noexcept
{
    return enumerator_name(effect);
}

std::string_view to_string(Waits waits) noexcept
{
    return enumerator_name(waits);
}

std::string_view to_string(WatchAs as) noexcept
{
    return enumerator_name(as);
}

std::string_view to_string(WatchEvent event) noexcept
{
    return enumerator_name(event);
}

} // namespace backend
} // namespace tenure
