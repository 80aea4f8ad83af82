// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "clocks.hpp"
#include "store/redis/wire/value.hpp"

#include <tenure/backend/backend.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** A command that leases use, with arguments that make it a well-formed example. */
struct CommandToCheck {
    /// unused places are empty
    std::array<std::string_view, 5> words;
    /// what goes on without it
    enum class Without { nothing, waking_later, waiting_in_line, losing_moved_slots } without = Without::nothing;
    /// servers that are asked about it
    enum class Asked { all, unsharded, cluster, sharded_cluster } asked = Asked::all;

    [[nodiscard]] bool concerns(ServerInfo const& server) const noexcept;
};
[[nodiscard]] std::span<CommandToCheck const> commands_to_check() noexcept;

/** What was learned about a server. */
struct Facts {
    std::chrono::milliseconds ttl{};
    /// how many replicas leases wait for; 0: none
    std::uint32_t acknowledged_by = 0;
    bool delay_after_failover = false;
    /// why nothing could be learned; empty: something was
    std::string unreachable;
    ServerInfo server;
    std::vector<std::chrono::nanoseconds> round_trips;
    /// the reply to TIME, null if there was none
    resp::Value server_time;
    std::optional<ClockReading> clock;
    std::vector<ReplicaClock> replica_clocks;
    /// lines of INFO; empty: not allowed
    std::map<std::string, std::string, std::less<>> info;
    /// by CONFIG GET; empty: not allowed
    std::map<std::string, std::string, std::less<>> settings;
    /// commands that were tried and refused
    std::vector<std::string> refused_commands;
    bool permissions_known = false;
    std::vector<CommandToCheck const*> missing_permissions;
};

/** What the facts mean for leases, and what to do. */
[[nodiscard]] Findings judge(Facts const& facts);

} // namespace tenure::redis
