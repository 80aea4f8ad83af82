// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::etcd
{

/** What was learned about a cluster. */
struct Facts {
    std::chrono::milliseconds ttl{};
    /// why nothing could be learned; empty: something was
    std::string unreachable;
    /// empty: none is given
    std::string username;
    /// of reads that a majority confirmed
    std::vector<std::chrono::nanoseconds> round_trips;
    /// as the reads were refused; empty: they were not
    std::string refused;
    std::string version;
    /// 0: unknown
    std::uint64_t leader = 0;
    std::uint64_t raft_term = 0;
    std::optional<std::size_t> members;
    std::optional<std::vector<std::string>> alarms;
    /// seconds, of a lease that was asked for with this ttl; 0: none was granted
    std::int64_t granted_ttl = 0;
    std::string grant_refused;
};

/** What the facts mean for leases, and what to do. */
[[nodiscard]] Findings judge(Facts const& facts);

} // namespace tenure::etcd
