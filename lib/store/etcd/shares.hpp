// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests for keys that are held in places (backend::Share). Renewals and releases are those of plain keys.
#pragma once

#include "attempt.hpp"
#include "cluster_context.hpp"
#include "runtime/names.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

namespace tenure::etcd
{

/** Takes a place, or asks again for the one that the owner has. A place holds or waits as of the revision that was read
 *  with it. */
[[nodiscard]] store::Request<ClaimReply> claim_place(AttemptPtr attempt);

} // namespace tenure::etcd
