// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The clocks of a server and of its replicas, which count leases.
#pragma once

#include "store/redis/link/connection.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::redis
{

/** What a server's clock showed, against the local one: a reply to TIME was made at some instant between the request
 * and the reply, so the shorter the round trip the better. */
struct ClockReading {
    /// the server's clock less the local one; only to be compared with that of another server
    std::chrono::nanoseconds offset{};
    /// half a round trip: the true offset differs by that at most
    std::chrono::nanoseconds uncertainty{};
};

/** Unset: it is no reply to TIME. */
[[nodiscard]] std::optional<ClockReading> read_time(resp::Value const& reply, Instant asked, Instant answered);

/** Of two readings of one clock the better one. */
[[nodiscard]] std::optional<ClockReading>
better(std::optional<ClockReading> const& a, std::optional<ClockReading> const& b);

/** Asks a server for its time, a few times, one after the other, and closes the connection. The handler gets the best
 * reading, or why it could not be read; it keeps the runtime. */
void read_clock(
    Runtime& runtime, std::shared_ptr<Connection> connection, Deadline not_after,
    std::function<void(std::optional<ClockReading>, std::string why_not)> handler);

/** A replica's clock, which counts the leases after a failover to it. */
struct ReplicaClock {
    ServerAddress replica;
    std::optional<ClockReading> reading;
    /// why the clock could not be read
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
