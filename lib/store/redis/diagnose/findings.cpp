// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Findings of `tenure doctor` about a Redis server.
#include "findings.hpp"

#include "store/redis/replies.hpp"

#include <store/diagnosis.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace tenure::redis
{

namespace
{

using Severity = Finding::Severity;
using Without = CommandToCheck::Without;
using Asked = CommandToCheck::Asked;

constexpr std::array commands{
    CommandToCheck{{"eval", "return 1", "1", "key", ""}},
    CommandToCheck{{"evalsha", "0000000000000000000000000000000000000000", "1", "key", ""}},
    CommandToCheck{{"get", "key", "", "", ""}},
    CommandToCheck{{"mget", "key", "", "", ""}},
    CommandToCheck{{"exists", "key", "", "", ""}},
    CommandToCheck{{"set", "key", "value", "", ""}},
    CommandToCheck{{"del", "key", "", "", ""}},
    CommandToCheck{{"pexpire", "key", "1000", "", ""}},
    CommandToCheck{{"pttl", "key", "", "", ""}},
    CommandToCheck{{"incr", "key", "", "", ""}},
    CommandToCheck{{"time", "", "", "", ""}},
    CommandToCheck{{"multi", "", "", "", ""}},
    CommandToCheck{{"exec", "", "", "", ""}},
    CommandToCheck{{"lpos", "key", "name", "", ""}, Without::waiting_in_line},
    CommandToCheck{{"rpush", "key", "name", "", ""}, Without::waiting_in_line},
    CommandToCheck{{"lpush", "key", "name", "", ""}, Without::waiting_in_line},
    CommandToCheck{{"lpop", "key", "", "", ""}, Without::waiting_in_line},
    CommandToCheck{{"lrem", "key", "0", "name", ""}, Without::waiting_in_line},
    CommandToCheck{{"lrange", "key", "0", "-1", ""}, Without::waiting_in_line},
    CommandToCheck{{"llen", "key", "", "", ""}, Without::waiting_in_line},
    CommandToCheck{{"hget", "key", "field", "", ""}, Without::sharing},
    CommandToCheck{{"hmget", "key", "field", "", ""}, Without::sharing},
    CommandToCheck{{"hset", "key", "field", "value", ""}, Without::sharing},
    CommandToCheck{{"hdel", "key", "field", "", ""}, Without::sharing},
    CommandToCheck{{"hgetall", "key", "", "", ""}, Without::sharing},
    CommandToCheck{{"publish", "channel", "message", "", ""}, Without::waking_later, Asked::unsharded},
    CommandToCheck{{"subscribe", "channel", "", "", ""}, Without::waking_later, Asked::unsharded},
    CommandToCheck{{"spublish", "channel", "message", "", ""}, Without::waking_later, Asked::sharded_cluster},
    CommandToCheck{{"ssubscribe", "channel", "", "", ""}, Without::waking_later, Asked::sharded_cluster},
    CommandToCheck{{"unsubscribe", "channel", "", "", ""}, Without::unsubscribing, Asked::unsharded},
    CommandToCheck{{"sunsubscribe", "channel", "", "", ""}, Without::unsubscribing, Asked::sharded_cluster},
    CommandToCheck{{"asking", "", "", "", ""}, Without::losing_moved_slots, Asked::cluster},
};

std::string minimal_acl(ServerInfo const& server)
{
    bool const cluster = server.mode == "cluster";
    return std::string("resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire +pttl +incr +time "
                       "+multi +exec ") +
           (cluster ? "+cluster|shards +asking " : "") + "~PREFIX* ~tenure:fence" + (cluster ? ":*" : "") +
           ", and for notifications " +
           (cluster && server.version.has_sharded_channels() ? "+spublish +ssubscribe +sunsubscribe"
                                                             : "+publish +subscribe +unsubscribe") +
           " +lpos +rpush +lpush +lpop +lrem +lrange +llen ~{PREFIX*}:waiting ~{PREFIX*}:watched &{PREFIX*}:free"
           ", and for fair locks, read-write locks and semaphores +hget +hmget +hset +hdel +hgetall";
}

std::optional<std::string> lookup(std::map<std::string, std::string, std::less<>> const& map, std::string_view name)
{
    auto const found = map.find(name);
    return found == map.end() ? std::nullopt : std::optional(found->second);
}

/// The value of a setting, or else of the corresponding line of INFO.
std::optional<std::string> learned(Facts const& facts, std::string_view setting, std::string_view info)
{
    auto value = lookup(facts.settings, setting);
    return value ? value : lookup(facts.info, info);
}

std::int64_t number(std::string_view text)
{
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

Finding version(Facts const& facts)
{
    auto name = facts.server.server;
    auto text = facts.server.version.text();
    if (text.empty())
        text = lookup(facts.info, "redis_version").value_or("");
    if (text.empty())
        return {Severity::unverified, "version", "not told", "leases need Redis 6 or newer, or Valkey"};
    auto const observed = (name.empty() ? std::string("redis") : name) + " " + text;
    if (name != "valkey" && number(text) < 6)
        return {Severity::error, "version", observed, "leases need Redis 6 or newer, or Valkey: upgrade the server"};
    return {Severity::ok, "version", observed, ""};
}

Finding role(Facts const& facts)
{
    auto role = lookup(facts.info, "role").value_or(facts.server.role);
    auto const mode = lookup(facts.info, "redis_mode").value_or(facts.server.mode);
    if (mode == "sentinel")
        return {Severity::error, "role", "a sentinel", "a sentinel holds no keys: give the address of its master"};
    if (mode == "cluster")
        return {
            Severity::error, "role", "a node of a cluster",
            "keys of other nodes are refused here (MOVED): use a server of its own, or redis+cluster://"};
    if (role == "slave" || role == "replica")
        return {
            Severity::error, "role", "a replica",
            "it refuses every claim (READONLY): give the address of its master, or a name that follows the master"};
    if (role != "master")
        return {Severity::unverified, "role", "not told", "make sure that this is a master: replicas refuse claims"};
    return {Severity::ok, "role", "master, " + (mode.empty() ? std::string("standalone") : mode), ""};
}

Finding clock(Facts const& facts)
{
    auto const shown = read_server_time(facts.server_time);
    if (!shown)
        return {Severity::unverified, "clock", "not told", "fencing tokens need TIME: grant +time"};
    auto const local = std::chrono::system_clock::now().time_since_epoch();
    auto const apart = std::chrono::duration_cast<std::chrono::seconds>(*shown - local).count();
    std::string const observed = std::to_string(apart) + " s from this machine's";
    if (apart > 10 || apart < -10)
        return {
            Severity::warning, "clock", observed,
            "leases do not depend on it, but fencing tokens after a loss of data do: let both machines follow the same "
            "time"};
    return {Severity::ok, "clock", observed, ""};
}

Finding persistence(Facts const& facts)
{
    auto aof = learned(facts, "appendonly", "aof_enabled");
    if (!aof)
        return {
            Severity::unverified, "persistence", "may not be asked (CONFIG, INFO)",
            "without appendonly a restart forgets all leases, and others are granted what is still held"};
    if (*aof == "yes" || *aof == "1") {
        auto const fsync = lookup(facts.settings, "appendfsync").value_or("unknown fsync");
        bool const never = fsync == "no";
        return {
            never ? Severity::warning : Severity::ok, "persistence", "append-only file, appendfsync " + fsync,
            never ? "the system may lose half a minute of leases in a crash: set appendfsync everysec or always"
            : fsync == "always"
                ? ""
                : "a loss of power may forget the leases of the last second; appendfsync always would not"};
    }
    return {
        Severity::warning, "persistence", "none that keeps leases (appendonly no)",
        "a restart forgets all leases, and others are granted what is still held: set appendonly yes, or leave the "
        "server "
        "stopped for a ttl; let the resource check fencing tokens"};
}

Finding eviction(Facts const& facts)
{
    auto const policy = learned(facts, "maxmemory-policy", "maxmemory_policy");
    auto const limit = learned(facts, "maxmemory", "maxmemory");
    if (!policy)
        return {
            Severity::unverified, "eviction policy", "may not be asked (CONFIG, INFO)",
            "a policy other than noeviction may evict leases that are held"};
    std::string const observed = *policy + (limit && *limit == "0" ? ", no memory limit" : "");
    if (*policy == "noeviction" || (limit && *limit == "0"))
        return {Severity::ok, "eviction policy", observed, ""};
    return {
        Severity::warning, "eviction policy", observed,
        "keys of leases that are held may be evicted, and others are granted them: set maxmemory-policy noeviction, or "
        "use a server of its own"};
}

/// Connected replicas that cannot acknowledge soon: "127.0.0.1:6380 (wait_bgsave)", "... (12 s behind)".
std::string replicas_behind(Facts const& facts)
{
    constexpr std::int64_t most_seconds = 2;
    std::string behind;
    for (auto const& line : replica_lines(facts.info)) {
        auto const state = field_of(line, "state");
        auto const lag = number(field_of(line, "lag"));
        if (state == "online" && lag <= most_seconds)
            continue;
        behind += (behind.empty() ? "" : ", ") + field_of(line, "ip") + ":" + field_of(line, "port") + " (" +
                  (state == "online" ? std::to_string(lag) + " s behind" : state) + ")";
    }
    return behind;
}

/// Finding on the replicas, if leases wait for their acknowledgement.
Finding acknowledging_replicas(Facts const& facts)
{
    auto const wanted = facts.acknowledged_by;
    auto const count = lookup(facts.info, "connected_slaves");
    if (!count)
        return {
            Severity::unverified, "replicas", "may not be asked (INFO)",
            "claims and renewals wait for " + std::to_string(wanted) + " of them: make sure that there are so many"};
    auto const least = lookup(facts.settings, "min-replicas-to-write");
    std::string const observed = *count + ", of which " + std::to_string(wanted) +
                                 " must acknowledge, min-replicas-to-write " + least.value_or("not told");
    if (number(*count) < static_cast<std::int64_t>(wanted))
        return {
            Severity::error, "replicas", observed,
            "every claim fails (not_replicated) until more replicas are connected: bring them back, or ask for fewer"};
    if (auto const behind = replicas_behind(facts); !behind.empty())
        return {
            Severity::warning, "replicas", observed + "; " + behind,
            "claims wait for them and may fail (not_replicated): see what keeps them"};
    if (number(*count) > static_cast<std::int64_t>(wanted))
        return {
            Severity::warning, "replicas", observed,
            "a replica that is promoted may be one that lacks the last claims: ask for all of them, or let the "
            "resource check fencing tokens"};
    return {Severity::ok, "replicas", observed, ""};
}

Finding replicas(Facts const& facts)
{
    if (facts.acknowledged_by > 0)
        return acknowledging_replicas(facts);
    auto const count = lookup(facts.info, "connected_slaves");
    auto const least = lookup(facts.settings, "min-replicas-to-write");
    if (!count)
        return {
            Severity::unverified, "replicas", "may not be asked (INFO)",
            "a replica that is promoted may lack the last claims: the fencing token covers that"};
    if (*count == "0")
        return {Severity::ok, "replicas", "none", ""};
    std::string const observed = *count + ", min-replicas-to-write " + least.value_or("not told");
    if (least && *least != "0")
        return {Severity::ok, "replicas", observed, ""};
    return {
        least ? Severity::warning : Severity::unverified, "replicas", observed,
        "replication is asynchronous: a replica that is promoted may lack the last claims, and an isolated master goes "
        "on "
        "granting; set min-replicas-to-write 1 and min-replicas-max-lag, and let the resource check fencing tokens"};
}

Finding permissions(Facts const& facts)
{
    std::string missing;
    bool required = false;
    std::string what_to_do;
    for (auto const* const command : facts.missing_permissions) {
        missing += (missing.empty() ? "+" : " +") + std::string(command->words[0]);
        required = required || command->without == Without::nothing;
    }
    auto const advise = [&](Without without, std::string_view advice) {
        if (std::ranges::any_of(
                facts.missing_permissions, [=](auto const* command) { return command->without == without; }))
            what_to_do.append(what_to_do.empty() ? "" : "; ").append(advice);
    };
    advise(
        Without::waking_later,
        "without them waiters poll and wake later; grant them with the channels &{PREFIX*}:free");
    advise(
        Without::waiting_in_line,
        "without the commands of lists waiters are served in no order; grant them with the keys ~{PREFIX*}:waiting "
        "~{PREFIX*}:watched");
    advise(Without::sharing, "without the commands of hashes fair locks, read-write locks and semaphores are refused");
    advise(
        Without::unsubscribing,
        "without +unsubscribe (in a cluster +sunsubscribe) the server keeps unused subscriptions until the connection "
        "ends");
    advise(
        Without::losing_moved_slots,
        "without +asking leases in a hash slot that is being moved are not renewed meanwhile");
    for (auto const& name : facts.refused_commands) {
        if (missing.find("+" + name) == std::string::npos)
            missing += (missing.empty() ? "+" : " +") + name;
        required = true;
    }
    std::string const needed =
        minimal_acl(facts.server) + (facts.acknowledged_by > 0 ? ", and for replicas +wait" : "") +
        (facts.delay_after_failover ? ", and for delay_after_failover +info ~tenure:master" : "");
    if (!missing.empty())
        return {
            required ? Severity::error : Severity::warning, "permissions", "missing: " + missing,
            required ? "leases fail without them; the user needs: " + needed : what_to_do};
    if (!facts.permissions_known)
        return {
            Severity::unverified, "permissions", "may not be asked (ACL WHOAMI, ACL DRYRUN; Redis 7)",
            "the user needs: " + needed};
    return {Severity::ok, "permissions", "all commands that leases use", ""};
}

} // namespace

bool CommandToCheck::concerns(ServerInfo const& server) const noexcept
{
    bool const cluster = server.mode == "cluster";
    bool const sharded = cluster && server.version.has_sharded_channels();
    switch (asked) {
    case Asked::unsharded:
        return !sharded;
    case Asked::cluster:
        return cluster;
    case Asked::sharded_cluster:
        return sharded;
    case Asked::all:
        break;
    }
    return true;
}

std::span<CommandToCheck const> commands_to_check() noexcept
{
    return commands;
}

Findings judge(Facts const& facts)
{
    if (!facts.unreachable.empty())
        return {{Severity::error, "connection", facts.unreachable, "no lease can be acquired on this server now"}};
    Findings findings{version(facts),  role(facts),        judge_round_trips(facts.round_trips, facts.ttl),
                      clock(facts),    persistence(facts), eviction(facts),
                      replicas(facts), permissions(facts)};
    if (!facts.transactions_refused.empty())
        findings.push_back(
            {Severity::warning, "transactions", "refused (" + facts.transactions_refused + ")",
             "scripts claim single keys, which costs the server more: let the proxy pass MULTI and EXEC, or connect to "
             "the server itself"});
    for (auto const& replica : facts.replica_clocks)
        findings.push_back(judge(replica, facts.clock, facts.ttl));
    return findings;
}

} // namespace tenure::redis
