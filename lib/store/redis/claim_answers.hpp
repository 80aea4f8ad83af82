// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "claim_reply.hpp"
#include "node.hpp"

#include <tenure/backend/backend.hpp>

#include <string_view>

namespace tenure::redis
{

/** The grant, unless the replicas that it was to rest on do not have it. */
[[nodiscard]] ClaimReply confirmed(Node const& node, KeyRange const& range, Granted granted, Outcome const& outcome);

/** The server refused a claim, which wrote nothing. */
[[nodiscard]] Failure refuse_claim(Node& node, resp::Value const& error, std::string_view what);

/** Of a claim that waits in line: the server may have refused the place. */
void note_place(Node& node, KeyRange const& range, PageHeld const& held);

} // namespace tenure::redis
