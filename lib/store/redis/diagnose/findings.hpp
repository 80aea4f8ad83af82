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

/** A command that leases use, with arguments that make a well-formed example. */
struct CommandToCheck {
    /// unused elements are empty
    std::array<std::string_view, 5> words;
    /// the function that is lost without the command
    enum class Without {
        nothing,
        waking_later,
        waiting_in_line,
        losing_moved_slots,
        unsubscribing,
        sharing
    } without = Without::nothing;
    /// servers on which it is checked
    enum class Asked { all, unsharded, cluster, sharded_cluster } asked = Asked::all;

    [[nodiscard]] bool concerns(ServerInfo const& server) const noexcept;
};
[[nodiscard]] std::span<CommandToCheck const> commands_to_check() noexcept;

/** Facts about a server. */
struct Facts {
    std::chrono::milliseconds ttl{};
    /// number of replicas that must acknowledge; 0: none
    std::uint32_t acknowledged_by = 0;
    bool delay_after_failover = false;
    /// why no facts could be read; empty: they were read
    std::string unreachable;
    ServerInfo server;
    std::vector<std::chrono::nanoseconds> round_trips;
    /// the reply to TIME; null: none
    resp::Value server_time;
    std::optional<ClockReading> clock;
    std::vector<ReplicaClock> replica_clocks;
    /// lines of INFO; empty: not permitted
    std::map<std::string, std::string, std::less<>> info;
    /// from CONFIG GET; empty: not permitted
    std::map<std::string, std::string, std::less<>> settings;
    /// commands that the server refused
    std::vector<std::string> refused_commands;
    /// why the server or a proxy does not run MULTI or EXEC; empty: it runs them
    std::string transactions_refused;
    bool permissions_known = false;
    std::vector<CommandToCheck const*> missing_permissions;
};

/** Judges the facts for leases, with advice. */
[[nodiscard]] Findings judge(Facts const& facts);

} // namespace tenure::redis
