// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet/acquisitions.hpp"
#include "fleet/client.hpp"
#include "fleet/measure.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace tenure::fleet
{

/// a little before the first renewals: what happens now meets them
inline constexpr std::chrono::milliseconds before_renewals = ttl / 3 * 17 / 20;
/// a renewal is due after a third of the ttl; one that waits for a server may come later
inline constexpr std::chrono::milliseconds renewal_limit = ttl / 2;

/** Acquires the keys, 64 at a time, and waits for the end of that. @return null if not all were granted, which is noted
 */
[[nodiscard]] std::shared_ptr<Acquisitions> hold(
    Client& client, Measure& measure, std::string const& prefix, std::size_t keys,
    std::chrono::milliseconds their_ttl = ttl);

/** Waits until their renewals are about to begin. */
void wait_for_renewals(Client& client, Acquisitions& held);

/** Waits until each of the leases was renewed since `begin_to_count_renewed`; notes how many were not.
 *  @param after  the event before the check, for its messages */
void check_renewed(Client& client, Measure& measure, Acquisitions& held, std::string const& after);

} // namespace tenure::fleet
