// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/hedged_link.hpp"
#include "store/redis/server_context.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/stores/redis_config.hpp>

#include <chrono>
#include <string>

namespace tenure::redis
{

struct ExamineSettings {
    /// what leases will ask of the server's replicas
    ReplicaAcknowledgement replicas = {};
    bool delay_after_failover = false;
    /// to the server's replicas, whose clocks are looked at; empty: they are not
    ConnectTo connect_to = {};
};

/** Asks the server about itself, as far as the user may, and judges the answers for leases of this ttl. Nothing is
 * written. What the user may not ask lands in the server's ACL LOG and becomes an unverified finding: this is for a
 * person at a terminal. */
void examine(
    ServerPtr const& server, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after,
    ReplyHandler<Findings> handler);

} // namespace tenure::redis
