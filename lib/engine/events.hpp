// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "distribution_count.hpp"

#include <tenure/clock.hpp>
#include <tenure/event.hpp>
#include <tenure/key_range.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::engine
{

class LeaseRecord;

/** How an acquisition ended that had to wait, or got nothing. */
struct AcquisitionEnd {
    KeyRange const& range;
    /// as for `make_owner`
    std::string_view owner_prefix;
    std::chrono::nanoseconds duration;
    boost::system::error_code error;
    bool is_try;
    /// of `Events::context`
    std::shared_ptr<void> const& context;
};

/** Hands the events of a store to the user's hook, by way of the log thread. Without a hook each call is one test of a
 * pointer. On the strand; an event that cannot be queued is dropped and counted. */
class Events
{
public:
    /** @param hook  may be empty
     *  @param context  may be empty */
    Events(EventHook hook, EventContext context, std::string store, Count& dropped);

    [[nodiscard]] bool wanted() const noexcept { return hook_ != nullptr; }

    /** The context of an acquisition that starts now. On the thread of its caller. */
    [[nodiscard]] std::shared_ptr<void> context() const noexcept;
    void waited(AcquisitionEnd const& end, Instant now) const noexcept;
    /** @param duration  of the acquisition */
    void acquired(LeaseRecord const& record, std::chrono::nanoseconds duration, Instant now) const noexcept;
    /** Any other event in the life of a lease. */
    void happened(Event::Kind kind, LeaseRecord const& record, Instant now) const noexcept;

private:
    void hand_over(Event event) const;
    void
    report(Event::Kind kind, LeaseRecord const& record, std::chrono::nanoseconds duration, Instant now) const noexcept;

    /// null if the user set no hook
    std::shared_ptr<EventHook const> hook_;
    EventContext context_;
    std::string store_;
    Count& dropped_;
};

} // namespace tenure::engine
