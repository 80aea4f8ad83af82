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

/** Facts about a cluster. */
struct Facts {
    std::chrono::milliseconds ttl{};
    /// why no facts could be read; empty: they were read
    std::string unreachable;
    /// empty: no login
    std::string username;
    /// of reads that a majority confirmed
    std::vector<std::chrono::nanoseconds> round_trips;
    /// the error of refused reads; empty: they succeeded
    std::string refused;
    std::string version;
    /// 0: unknown
    std::uint64_t leader = 0;
    std::uint64_t raft_term = 0;
    std::optional<std::size_t> members;
    std::optional<std::vector<std::string>> alarms;
    /// seconds, of a lease requested with this ttl; 0: no lease was granted
    std::int64_t granted_ttl = 0;
    std::string grant_refused;
};

/** Judges the facts for leases, with advice. */
[[nodiscard]] Findings judge(Facts const& facts);

} // namespace tenure::etcd
