// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for replies of sentinels. Each returns nullopt for malformed input; the content is not trusted.
#pragma once

#include "store/redis/link/server_address.hpp"
#include "store/redis/wire/value.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** What one sentinel says about a master. */
struct MasterReport {
    ServerAddress address;
    /// grows with each failover: of two addresses the one with the greater epoch is the newer
    std::uint64_t config_epoch = 0;
    /// this sentinel cannot reach the master
    bool subjectively_down = false;
    /// enough sentinels agree on that
    bool objectively_down = false;
    /// how many sentinels it knows, itself included
    std::size_t sentinels = 1;
    /// of the sentinel that reports; empty: it does not tell (before Redis 6.2)
    std::string id;
};

/** Another sentinel, as one of them names it. */
struct SentinelEntry {
    ServerAddress address;
    std::string id;

    friend bool operator==(SentinelEntry const&, SentinelEntry const&) = default;
};

/** The answer to SENTINEL GET-MASTER-ADDR-BY-NAME. */
[[nodiscard]] std::optional<ServerAddress> read_master_address(resp::Value const& reply);

/** The answers to SENTINEL MASTER and, of the same moment, to GET-MASTER-ADDR-BY-NAME. While a failover is being
 *  completed the first still shows the old master, and the second the replica that was promoted already. */
[[nodiscard]] std::optional<MasterReport> read_master(resp::Value const& state, resp::Value const& address);

/** The answer to SENTINEL SENTINELS: the others, those that make sense, `most` at most. */
[[nodiscard]] std::vector<SentinelEntry> read_sentinels(resp::Value const& reply, std::size_t most);

/** A message on the channel `+switch-master`. */
struct SwitchedMaster {
    std::string_view name;
    ServerAddress to;
};
[[nodiscard]] std::optional<SwitchedMaster> read_switched_master(std::string_view message);

} // namespace tenure::redis
