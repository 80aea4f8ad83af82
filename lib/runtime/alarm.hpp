// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/strand.hpp>
#include <tenure/clock.hpp>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <utility>

namespace tenure::engine
{

/** A timer on CLOCK_BOOTTIME. Asio's timers stop while the machine is suspended, so leases would be renewed, and tokens
 *  cancelled, late by that time; this one fires as soon as the machine is awake.
 *
 *  Source: timerfd_create(2). Everything runs on the strand. */
class Alarm
{
public:
    /** @throws std::system_error if the process has no descriptor left */
    explicit Alarm(Strand const& strand);

    /** Sets it, also while it is waited for. If the instant is past, it fires at once. */
    void set(Instant when) noexcept;

    /** Calls the handler once it has fired. It may have been set again since, so check the clock. One wait at a time.
     */
    template <class Handler>
    void async_wait(Handler&& handler)
    {
        descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read, std::forward<Handler>(handler));
    }
    /** Ends the wait with `operation_aborted`, unless its handler is queued already. */
    void cancel() noexcept;

private:
    boost::asio::posix::basic_stream_descriptor<Strand> descriptor_;
};

} // namespace tenure::engine
