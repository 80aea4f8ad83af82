// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/connection.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

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
 * reading, or why there is none; it keeps the runtime. */
void read_clock(
    Runtime& runtime, std::shared_ptr<Connection> connection, Deadline not_after,
    std::function<void(std::optional<ClockReading>, std::string why_not)> handler);

} // namespace tenure::redis
