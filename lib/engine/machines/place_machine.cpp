// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// PlaceMachine: numbers, and messages that are grants.
#include "place_machine.hpp"

#include <algorithm>

namespace tenure::engine
{

void PlaceMachine::placed(backend::InLine const& place) noexcept
{
    if (!place_ || place.number > place_->number || (place.number == place_->number && place.since > place_->since))
        place_ = place;
}

PlaceMachine::Step PlaceMachine::heard(backend::WatchNews news, RenewalTerms const& terms, Instant now) const
{
    if (news.event == backend::WatchEvent::hint || news.event == backend::WatchEvent::in_force)
        return {.ask = true};
    if (news.event != backend::WatchEvent::our_turn)
        return {};
    if (!place_ || news.held.empty())
        return {.ask = true};
    if (std::ranges::find(news.held, place_->number) == news.held.end())
        return {};
    if (!usable(terms, place_->since, place_->ttl, now))
        return {.ask = true};
    return {.grant = backend::Granted{0, place_->number, place_->ttl, place_->since, place_->handle}};
}

} // namespace tenure::engine
