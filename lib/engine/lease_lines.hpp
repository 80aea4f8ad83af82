// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "runtime/repeat_schedule.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::engine
{

class LeaseRecord;
class StoreLog;

/** Log lines about leases. One cause may concern thousands of leases: the first one is logged at once with its key, and
 *  the others together, with their number and five keys, at the times of RepeatSchedule. Everything runs on the strand.
 */
class LeaseLines
{
public:
    /** @param busy  whether leases, acquisitions or releases are left. While none is, no timer is pending, because it
     *    would keep the user's executor at work */
    LeaseLines(std::shared_ptr<Runtime> runtime, StoreLog const& store_log, std::function<bool()> busy);

    /** @param remaining  how long the lease stays valid */
    void at_risk(LeaseRecord const& record, Clock::duration remaining);
    void renewed_again(LeaseRecord const& record);
    void lost(LeaseRecord const& record, CancelReason reason);
    /** @param keys  the keys that were to be given back */
    void release_unconfirmed(std::string const& keys);
    void detachment_unconfirmed(std::string const& key);

    /** An acquisition has begun. */
    void work_began();
    /** A lease, an acquisition or a release has ended, perhaps the last one. */
    void work_ended();

    /** Logs what is left. Nothing is logged afterwards. */
    void close();

private:
    /** Counts a lease. True: log the line of one lease now. */
    template <class LineOfOne>
    void note(std::size_t cause, std::string key, LineOfOne line_of_one);
    /** Logs the counted leases of a cause. */
    void log_several(std::size_t cause, Repeated const& repeated);
    void log_due();
    void arm();

    /// leases with one cause
    struct Cause {
        RepeatSchedule schedule;
        /// the first of those that are not logged yet
        std::vector<std::string> keys;
    };

    std::shared_ptr<Runtime> runtime_;
    StoreLog const& store_log_;
    std::function<bool()> busy_;
    /// at risk, renewed again, release and detachment not confirmed, and lost by each reason
    std::array<Cause, 4 + static_cast<std::size_t>(CancelReason::released) + 1> causes_;
    /// for the cause that is due first
    Timer timer_{*runtime_};
    /// counted leases may wait without a timer
    bool holds_back_ = false;
    bool closed_ = false;
    /// this object, for its timer: expires with it
    std::shared_ptr<LeaseLines> self_{this, [](LeaseLines*) {}};
};

} // namespace tenure::engine
