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

/** One sentinel's report about a master. */
struct MasterReport {
    ServerAddress address;
    /// grows with each failover: the address with the greater epoch is newer
    std::uint64_t config_epoch = 0;
    /// this sentinel cannot reach the master
    bool subjectively_down = false;
    /// enough sentinels agree that it is down
    bool objectively_down = false;
    /// number of sentinels that it knows, including itself
    std::size_t sentinels = 1;
    /// of the reporting sentinel; empty: unknown (before Redis 6.2)
    std::string id;
};

/** Another sentinel, as named by one of them. */
struct SentinelEntry {
    ServerAddress address;
    std::string id;

    friend bool operator==(SentinelEntry const&, SentinelEntry const&) = default;
};

/** Parses the reply to SENTINEL GET-MASTER-ADDR-BY-NAME. */
[[nodiscard]] std::optional<ServerAddress> read_master_address(resp::Value const& reply);

/** Parses the replies to SENTINEL MASTER and, from the same moment, to GET-MASTER-ADDR-BY-NAME. While a failover
 *  completes, the first still shows the old master, and the second already the promoted replica. */
[[nodiscard]] std::optional<MasterReport> read_master(resp::Value const& state, resp::Value const& address);

/** Parses the reply to SENTINEL SENTINELS: the well-formed entries, at most `most`. */
[[nodiscard]] std::vector<SentinelEntry> read_sentinels(resp::Value const& reply, std::size_t most);

/** Parses a message on the channel `+switch-master`. */
struct SwitchedMaster {
    std::string_view name;
    ServerAddress to;
};
[[nodiscard]] std::optional<SwitchedMaster> read_switched_master(std::string_view message);

} // namespace tenure::redis
