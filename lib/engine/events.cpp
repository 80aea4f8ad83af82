// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "events.hpp"

#include "lease_record.hpp"
#include "runtime/log_queue.hpp"

#include <tenure/owner.hpp>

#include <utility>

namespace tenure::engine
{

Events::Events(EventHook hook, EventContext context, std::string store, Count& dropped)
    : hook_(hook ? std::make_shared<EventHook const>(std::move(hook)) : nullptr)
    , context_(std::move(context))
    , store_(std::move(store))
    , dropped_(dropped)
{
}

void Events::hand_over(Event event) const
{
    if (!run_on_log_thread([hook = hook_, event = std::move(event)] { (*hook)(event); }))
        add_one(dropped_);
}

std::shared_ptr<void> Events::context() const noexcept
try {
    return wanted() && context_ ? context_() : nullptr;
} catch (...) { // it is the user's
    return nullptr;
}

void Events::waited(AcquisitionEnd const& end, Instant now) const noexcept
try {
    if (!wanted())
        return;
    Event event;
    event.kind = Event::Kind::waited;
    event.at = now;
    event.store = store_;
    event.key = end.range.describe();
    auto const slash = end.owner_prefix.find('/');
    event.worker = end.owner_prefix.substr(0, slash);
    event.note = end.owner_prefix.substr(slash + 1);
    if (!event.note.empty())
        event.note.pop_back();
    event.duration = end.duration;
    event.error = end.error;
    event.is_try = end.is_try;
    event.context = end.context;
    hand_over(std::move(event));
} catch (...) { // out of memory: an event must not cost a lease
    add_one(dropped_);
}

void Events::acquired(LeaseRecord const& record, std::chrono::nanoseconds duration, Instant now) const noexcept
{
    report(Event::Kind::acquired, record, duration, now);
}

void Events::happened(Event::Kind kind, LeaseRecord const& record, Instant now) const noexcept
{
    report(kind, record, now - record.granted_at(), now);
}

void Events::report(
    Event::Kind kind, LeaseRecord const& record, std::chrono::nanoseconds duration, Instant now) const noexcept
try {
    if (!wanted())
        return;
    auto const& claim = record.claim();
    Event event;
    event.kind = kind;
    event.at = now;
    event.store = store_;
    event.key = record.key();
    if (claim.range->numbered)
        event.slot = claim.range->first + claim.index;
    if (auto owner = read_owner(claim.owner)) {
        event.worker = std::move(owner->worker);
        event.note = std::move(owner->note);
    }
    event.fencing_token = claim.fencing_token;
    event.duration = duration;
    event.remaining = record.valid_until() - now;
    event.reason = record.token().reason();
    event.context = record.event_context;
    hand_over(std::move(event));
} catch (...) { // out of memory: an event must not cost a lease
    add_one(dropped_);
}

} // namespace tenure::engine
