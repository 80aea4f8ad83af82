// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claim of a place.
#include "store/redis/claim/claim.hpp"
#include "message.hpp"
#include "replies.hpp"
#include "scripts.hpp"
#include "store/redis/steps.hpp"

#include <store/request.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

ClaimReply
reply_of(ServerContext& server, ClaimRequest const& request, PlaceAnswer const& answer, Outcome const& outcome)
{
    if (answer.kind == PlaceAnswer::Kind::held)
        return confirmed(
            server, *request.range, Granted{0, answer.number, request.ttl, outcome.since, nullptr}, outcome);
    if (answer.kind == PlaceAnswer::Kind::closed)
        server.note_closed(*answer.until);
    Busy busy;
    busy.earliest_expiry = answer.until;
    busy.never_frees = answer.kind == PlaceAnswer::Kind::other && !answer.until;
    // a waiting place is not confirmed by replicas, because it allows nothing
    if (answer.number != 0)
        busy.place = InLine{answer.number, answer.ahead, request.ttl, outcome.since, nullptr};
    return busy;
}

/** @param claim  without its handler. Its place in the window is kept until the answer */
store::Request<ClaimReply> request_place(ServerPtr server, PendingClaim claim)
{
    auto& request = claim.request;
    auto const& range = *request.range;
    PlaceMessage message;
    for (;;) {
        auto const how = message.begin(*server, true);
        ScriptCall call;
        call.script = &place_scripts::claim().for_server(*server);
        call.not_after = request.not_after;
        call.urgency = std::exchange(claim.urgency, resp::Urgency::step);
        call.leaves_with_next = std::exchange(request.with_others, false);
        call.names.add(server->fence());
        add_place(call, *server, range, how);
        call.values.add_all(
            request.owner, request.ttl.count(), request.share->weight, request.share->capacity, server->waiter(),
            std::string_view(request.waits == Waits::no ? "" : "1"), how);
        auto run = call_script(server, std::move(call));
        auto const outcome = co_await run;
        if (message.may_have_refused(*server, range, outcome))
            continue;
        if (!outcome.succeeded())
            co_return failure_of_claim(*server, outcome, range);
        auto const answer = read_place_answer(outcome.reply);
        if (!answer)
            co_return malformed_reply(*server, range.describe());
        message.end(server, range, answer->note);
        co_return reply_of(*server, request, *answer, outcome);
    }
}

} // namespace

void claim_place(ServerPtr const& server, PendingClaim&& claim)
{
    auto handler = std::move(claim.handler);
    request_place(server, std::move(claim)).start(std::move(handler));
}

} // namespace tenure::redis
