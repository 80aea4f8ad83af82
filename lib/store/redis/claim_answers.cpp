// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim_answers.hpp"

#include "release_reply.hpp"
#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <string>
#include <utility>

namespace tenure::redis
{

ClaimReply confirmed(Node const& node, KeyRange const& range, Granted granted, Outcome const& outcome)
{
    if (outcome.shortfall == nullptr)
        return granted;
    auto const& [error, missing, fatal, uncounted] = *outcome.shortfall;
    auto detail = node.where() + ": " + range.key(granted.index) + ": " + missing;
    // asked again, the owner finds its claim, and the replicas are counted again
    if (uncounted)
        return Failure::unknown(error, std::move(detail));
    return Unconfirmed{std::move(granted), error, std::move(detail), fatal};
}

Failure refuse_claim(Node& node, resp::Value const& error, std::string_view what)
{
    auto understood = classify(error.as_string());
    // the type of a lock's key does not matter to a claim: only the counter can be of a wrong one
    if (understood.error == errc::key_conflict)
        understood.advice = "another program wrote " + node.fence() +
                            ", which counts fencing tokens: delete that key, and tokens go on from the server's clock";
    return node.refuse(understood, what);
}

void note_place(Node& node, KeyRange const& range, PageHeld const& held)
{
    // what is no matter of permissions leaves the waiter to its timer for this time
    if (!held.line_error.empty())
        note_line_refusal(node, range, held.line_error);
}

} // namespace tenure::redis
