// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace tenure::test
{

/** The schemes that stand for the stores, and two with TLS. */
inline constexpr std::array<std::string_view, 8> store_kinds{"redis",   "rediss", "redis+sentinel", "redis+cluster",
                                                             "redlock", "etcd",   "etcds",          "zookeeper"};

enum class Outage {
    /// nothing listens on the port
    refused,
    /// no packet is answered
    silent,
    /// connections are accepted, and nothing is ever answered
    unanswered,
    /// the same, before TLS is established
    tls_hangs,
    /// the name server does not answer
    names_hang,
    loading,
    wrong_password,
    /// no master, no leader, or no node that serves the key
    no_leader,
    /// the servers are killed while operations wait or hold leases
    killed,
    /// they are stopped (SIGSTOP)
    paused
};
[[nodiscard]] std::string_view name_of(Outage outage) noexcept;

/** A store that is unavailable, or will be. */
struct UnavailableStore {
    std::string url;
    /// takes the store away; empty: it is unavailable from the beginning
    std::function<void()> strike;
    /// the servers, and whatever else it needs
    std::shared_ptr<void> servers;
};

/** Makes one; or says why there is no such outage of that store. Skips the running test where a server is missing. */
[[nodiscard]] std::variant<UnavailableStore, std::string> make_unavailable(std::string_view store, Outage outage);

} // namespace tenure::test
