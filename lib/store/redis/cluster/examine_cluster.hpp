// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster.hpp"

#include "store/redis/diagnose/examine.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <memory>

namespace tenure::redis
{

/** Looks at each master as `examine` does at one server, and at whether all hash slots are served. */
void examine_cluster(
    std::shared_ptr<Cluster> const& cluster, ExamineSettings settings, std::chrono::milliseconds ttl,
    Deadline not_after, ReplyHandler<Findings> handler);

} // namespace tenure::redis
