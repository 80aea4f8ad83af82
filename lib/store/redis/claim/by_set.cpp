// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claim of one key by `SET NX`.
#include "claim.hpp"

#include <utility>

namespace tenure::redis
{

namespace
{

// A first attempt has a new owner, so no key can have it already. It needs no GET, which Redis 6 refuses in SET NX and
// which transfers values of other programs. Later attempts use the script, which extends a claim that it finds.
void claim_named_key(ServerPtr const& server, PendingClaim&& claim)
{
    auto const not_after = claim.request.not_after;
    resp::Command command(
        "SET", resp::KeyOf{*claim.request.range, 0}, claim.request.owner, "NX", "PX", claim.request.lifetime().count());
    command.set_urgency(claim.urgency);
    if (claim.request.with_others)
        command.leave_with_next();
    server->channel()->execute(
        std::move(command), not_after, [server, claim = std::move(claim)](Outcome&& outcome) mutable {
            auto const& request = claim.request;
            if (outcome.delivery == Delivery::answered && outcome.reply.is_ok())
                std::move(claim.handler)(
                    confirmed(*server, *request.range, Granted{0, 0, request.ttl, outcome.since, nullptr}, outcome));
            else if (outcome.delivery == Delivery::answered && outcome.reply.is_null())
                claim_held_key(server, std::move(claim));
            else
                std::move(claim.handler)(ClaimReply(failure_of(*server, outcome, request.range->describe())));
        });
}

} // namespace

void claim(ServerPtr const& server, PendingClaim&& claim)
{
    server->channel()->note_ttl(claim.request.ttl);
    if (claim.request.share)
        claim_place(server, std::move(claim));
    else if (!claim.request.fencing && may_claim_by_set(*server, claim.request))
        claim_named_key(server, std::move(claim));
    else
        claim_by_page(server, std::move(claim));
}

bool may_claim_by_set(ServerContext const& server, ClaimRequest const& request)
{
    return request.range->count == 1 && !request.share && !server.is_redisson(*request.range) &&
           !request.earliest_attempt && !server.delays_after_failover() && request.waits != Waits::in_line &&
           (!request.fencing || server.has_transactions());
}

} // namespace tenure::redis
