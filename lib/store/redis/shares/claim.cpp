// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claim of a place.
#include "store/redis/claim/claim.hpp"
#include "message.hpp"
#include "replies.hpp"
#include "scripts.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

class PlaceClaim : public std::enable_shared_from_this<PlaceClaim>
{
public:
    PlaceClaim(ServerPtr server, PendingClaim&& claim)
        : server_(std::move(server))
        , claim_(std::move(claim))
        , request_(claim_.request)
    {
    }
    PlaceClaim(PlaceClaim const&) = delete;
    PlaceClaim& operator=(PlaceClaim const&) = delete;
    ~PlaceClaim() = default;

    void send()
    {
        auto const& share = *request_.share;
        auto const how = message_.begin(*server_, true);
        ScriptCall call;
        call.script = &place_scripts::claim().for_server(*server_);
        call.not_after = request_.not_after;
        call.urgency = std::exchange(claim_.urgency, resp::Urgency::step);
        call.leaves_with_next = std::exchange(request_.with_others, false);
        call.names.add(server_->fence());
        add_place(call, *server_, *request_.range, how);
        call.values.add_all(
            request_.owner, request_.ttl.count(), share.weight, share.capacity, server_->waiter(),
            std::string_view(request_.waits == Waits::no ? "" : "1"), how);
        run_script(server_->channel(), std::move(call), [self = shared_from_this()](Outcome const& outcome) {
            self->answered(outcome);
        });
    }

private:
    void answered(Outcome const& outcome)
    {
        auto const& range = *request_.range;
        if (message_.may_have_refused(*server_, range, outcome)) {
            send();
            return;
        }
        auto const answer = outcome.succeeded() ? read_place_answer(outcome.reply) : std::nullopt;
        if (!answer) {
            std::move(claim_.handler)(
                outcome.succeeded() ? malformed_reply(*server_, range.describe())
                                    : failure_of_claim(*server_, outcome, range));
            return;
        }
        message_.end(server_, range, answer->note);
        std::move(claim_.handler)(reply(*answer, outcome));
    }

    [[nodiscard]] ClaimReply reply(PlaceAnswer const& answer, Outcome const& outcome)
    {
        if (answer.kind == PlaceAnswer::Kind::held)
            return confirmed(
                *server_, *request_.range, Granted{0, answer.number, request_.ttl, outcome.since, nullptr}, outcome);
        if (answer.kind == PlaceAnswer::Kind::closed)
            server_->note_closed(*answer.until);
        Busy busy;
        busy.earliest_expiry = answer.until;
        busy.never_frees = answer.kind == PlaceAnswer::Kind::other && !answer.until;
        // a waiting place is not confirmed by replicas, because it allows nothing
        if (answer.number != 0)
            busy.place = InLine{answer.number, answer.ahead, request_.ttl, outcome.since, nullptr};
        return busy;
    }

    ServerPtr server_;
    PendingClaim claim_;
    /// of `claim_`
    ClaimRequest& request_;
    PlaceMessage message_;
};

} // namespace

void claim_place(ServerPtr const& server, PendingClaim&& claim)
{
    std::make_shared<PlaceClaim>(server, std::move(claim))->send();
}

} // namespace tenure::redis
