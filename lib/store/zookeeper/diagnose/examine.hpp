// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/zookeeper/session/ensemble.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tenure::zookeeper
{

/** What was learned about an ensemble. */
struct Facts {
    std::chrono::milliseconds ttl{};
    std::chrono::milliseconds tick{};
    std::size_t servers = 0;
    bool logged_in = false;
    /// why nothing could be learned; empty: something was
    std::string unreachable;
    std::vector<std::chrono::nanoseconds> round_trips;
    std::vector<std::chrono::nanoseconds> writes;
    /// what the server grants to whoever asks for too little, and for too much
    std::optional<std::chrono::milliseconds> shortest;
    std::optional<std::chrono::milliseconds> longest;
    /// why a node could not be created and removed; empty: it could
    std::string refused;
};

/** What the facts mean for leases, and what to do. */
[[nodiscard]] Findings judge(Facts const& facts);

void examine(EnsemblePtr ensemble, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler);

} // namespace tenure::zookeeper
