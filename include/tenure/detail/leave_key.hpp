// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::detail
{

/** Ends a lease without a release: it is no longer valid, its renewals end, and its key expires with the ttl. For work
 *  that does not end. Other kinds of leases are left as they are: their owner releases them in the end. */
template <class LeaseType>
struct LeaveKey {
    static void of(LeaseType&) noexcept {}
};

} // namespace tenure::detail
