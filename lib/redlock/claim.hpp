// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "candidates.hpp"
#include "quorum.hpp"

#include <tenure/backend.hpp>

#include <memory>

namespace tenure::redlock
{

/** One claim under way on all nodes. Destroying it before it has answered does not stop it. */
class Candidacy;

/** Takes the first key of the range that is free on a majority, on a majority: answers once, by `not_after` or its own
 * patience, whichever is sooner. What it took without success it gives back, as soon as it knows of it; an answer of
 * `Unknown` says that some of it may be left. Its owner must not be used again, because that may still be under way. */
[[nodiscard]] std::shared_ptr<Candidacy> claim(
    QuorumPtr const& quorum, std::shared_ptr<Candidates> const& candidates, ClaimRequest request,
    ReplyHandler<ClaimReply> handler);

/** The same owner asks again while its claim is under way: it gets the same answer. False if it has been given. */
[[nodiscard]] bool join(Candidacy& candidacy, ReplyHandler<ClaimReply>& handler);

/** What was granted is being given back: it takes nothing more. */
void stop(Candidacy& candidacy) noexcept;

} // namespace tenure::redlock
