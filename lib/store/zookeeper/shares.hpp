// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests for keys that are held in places (backend::Share). Renewals and releases are those of plain keys.
#pragma once

#include "attempt.hpp"
#include "runtime/names.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

namespace tenure::zookeeper
{

/** Takes a place, or asks again for the one that the owner has. */
[[nodiscard]] store::Request<ClaimReply> claim_place(AttemptPtr attempt);

[[nodiscard]] store::Request<InspectReply> inspect_places(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after);

[[nodiscard]] store::Request<EvictReply> evict_place(EnsemblePtr ensemble, EvictRequest request);

} // namespace tenure::zookeeper
