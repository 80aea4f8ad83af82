// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "clock_reading.hpp"
#include "store/redis/link/server_address.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenure::redis
{

/** A replica's clock, which counts the leases after a failover to it. */
struct ReplicaClock {
    ServerAddress replica;
    std::optional<ClockReading> reading;
    /// why there is none
    std::string why_not;
};

/** The replicas that a master's INFO names. */
[[nodiscard]] std::vector<ServerAddress> replicas_in(std::map<std::string, std::string, std::less<>> const& info);

/** What a replica's clock means for leases of this ttl.
 *  @param master  unset: its clock could not be read */
[[nodiscard]] Finding
judge(ReplicaClock const& clock, std::optional<ClockReading> const& master, std::chrono::milliseconds ttl);

/** "ip=127.0.0.1,port=6380,state=online,offset=14,lag=0": the value behind a name; empty: it is not there. */
[[nodiscard]] std::string field_of(std::string const& line, std::string const& name);

/** INFO's lines of replicas, slave0 and so on. */
[[nodiscard]] std::vector<std::string> replica_lines(std::map<std::string, std::string, std::less<>> const& info);

} // namespace tenure::redis
