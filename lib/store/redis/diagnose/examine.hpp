// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Measurements of `tenure doctor` on a Redis server.
#pragma once

#include "runtime/names.hpp"
#include "store/redis/link/hedged_link.hpp"
#include "store/redis/server_context.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/stores/redis.hpp>

#include <chrono>
#include <string>

namespace tenure::redis
{

struct ExamineSettings {
    /// the replica acknowledgements that leases will request
    ReplicaAcknowledgement replicas = {};
    bool delay_after_failover = false;
    /// connects to the server's replicas to read their clocks; empty: clocks are not read
    ConnectTo connect_to = {};
};

/** Reads facts from the server, as far as the user is permitted, and judges them for leases of this ttl. It writes
 *  nothing. Each refused command appears in the server's ACL LOG and becomes an unverified finding, so run it only for
 *  a person at a terminal. */
[[nodiscard]] store::Request<Findings>
examine(ServerPtr server, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after);

} // namespace tenure::redis
