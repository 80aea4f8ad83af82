// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Clocks of a server and of its replicas, which time the leases.
#pragma once

#include "runtime/names.hpp"
#include "store/redis/link/connection.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::redis
{

/** Difference between a server's clock and the local one. The server read its clock between the request and the reply,
 *  so a short round trip gives a precise reading. */
struct ClockReading {
    /// the server's clock minus the local one; comparable only between servers
    std::chrono::nanoseconds offset{};
    /// half a round trip: the largest error of the offset
    std::chrono::nanoseconds uncertainty{};
};

/** Nullopt: not a reply to TIME. */
[[nodiscard]] std::optional<ClockReading> read_time(resp::Value const& reply, Instant asked, Instant answered);

/** The more precise of two readings of one clock. */
[[nodiscard]] std::optional<ClockReading>
better(std::optional<ClockReading> const& a, std::optional<ClockReading> const& b);

/** A replica's clock, which times the leases after a failover to it. */
struct ReplicaClock {
    ServerAddress replica;
    std::optional<ClockReading> reading;
    /// why the clock could not be read, if it has no reading
    std::string why_not;
};

/** Reads a replica's time several times in sequence, and closes the connection. The best reading counts.
 *  @param runtime  outlives the request */
[[nodiscard]] store::Request<ReplicaClock>
read_clock(Runtime& runtime, ServerAddress replica, std::shared_ptr<Connection> connection, Deadline not_after);

/** The replicas in a master's INFO. */
[[nodiscard]] std::vector<ServerAddress> replicas_in(std::map<std::string, std::string, std::less<>> const& info);

/** Finding on a replica's clock for leases of this ttl.
 *  @param master  unset: its clock could not be read */
[[nodiscard]] Finding
judge(ReplicaClock const& clock, std::optional<ClockReading> const& master, std::chrono::milliseconds ttl);

/** The value of a field in "ip=127.0.0.1,port=6380,state=online,offset=14,lag=0"; empty: missing. */
[[nodiscard]] std::string field_of(std::string const& line, std::string const& name);

/** INFO's lines about replicas, slave0 and so on. */
[[nodiscard]] std::vector<std::string> replica_lines(std::map<std::string, std::string, std::less<>> const& info);

} // namespace tenure::redis
