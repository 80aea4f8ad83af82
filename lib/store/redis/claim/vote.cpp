// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claim of one key on one of several servers that decide by majority.
#include "claim.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/replies.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

/** Sends `SET NX PX`, `PTTL`, `GET` of the fence key and `TIME` in one write, at a tenth of the cost of a script. One
 *  atomic step is not needed: only the holder of the key changes the fence key. */
class VotingClaim : public std::enable_shared_from_this<VotingClaim>
{
public:
    VotingClaim(ServerPtr server, PendingClaim&& claim)
        : server_(std::move(server))
        , claim_(std::move(claim))
        , request_(claim_.request)
        , key_(request_.range->key(0))
    {
    }
    VotingClaim(VotingClaim const&) = delete;
    VotingClaim& operator=(VotingClaim const&) = delete;
    ~VotingClaim() = default;

    void start()
    {
        send(set, resp::Command("SET", key_, request_.owner, "NX", "PX", request_.lifetime().count()));
        send(pttl, resp::Command("PTTL", key_));
        send(get, resp::Command("GET", fence_key(key_)));
        send(time, resp::Command("TIME"));
    }

    /** For an owner that may already hold the key: runs the script, then reads the token to begin from. */
    void search()
    {
        auto request = request_;
        request.fencing = false;
        auto then = [self = shared_from_this()](ClaimReply reply) { self->searched(std::move(reply)); };
        claim(server_, {std::move(request), std::move(then), {}, claim_.urgency});
        claim_.urgency = resp::Urgency::step;
    }

private:
    enum Step : std::size_t { set, pttl, get, time, steps };

    void send(Step step, resp::Command command)
    {
        // all replies arrived in time or none counts: a grant needs its token
        if (step + 1 < steps)
            command.leave_with_next();
        command.set_urgency(claim_.urgency);
        server_->channel()->execute(
            std::move(command), request_.not_after, [self = shared_from_this(), step](Outcome outcome) {
                self->outcomes_[step] = std::move(outcome);
                if (--self->unanswered_ == 0)
                    self->judge();
            });
    }

    void searched(ClaimReply reply)
    {
        auto* const found = std::get_if<Granted>(&reply);
        if (found == nullptr) {
            finish(std::move(reply));
            return;
        }
        found_ = std::move(*found);
        unanswered_ = steps - get;
        send(get, resp::Command("GET", fence_key(key_)));
        send(time, resp::Command("TIME"));
    }

    void judge()
    {
        if (found_) {
            finish(granted(found_->since));
            return;
        }
        auto const& claim = outcomes_[set];
        if (claim.succeeded() && claim.reply.is_ok())
            finish(granted(claim.since));
        else if (claim.succeeded() && claim.reply.is_null())
            finish(held());
        else
            finish(failure_of(*server_, claim, key_));
    }

    [[nodiscard]] Busy held() const
    {
        auto const& left = outcomes_[pttl];
        if (left.delivery != Delivery::answered || !left.reply.is_integer())
            return {};
        // -2: the key is free by now
        auto const ms = left.reply.as_integer();
        if (ms == -1)
            return {std::nullopt, true};
        return {at_most_a_year(std::max<std::int64_t>(ms, 0)), false};
    }

    /** Makes the reply for a taken key. Without a token to begin from, the caller must give the key back. */
    [[nodiscard]] ClaimReply granted(Instant since)
    {
        for (auto const step : {get, time}) {
            if (auto const& outcome = outcomes_[step]; !outcome.succeeded()) {
                auto why = failure_of(*server_, outcome, fence_key(key_));
                return Failure::unknown(why.error, std::move(why.detail));
            }
        }
        auto const& fence = outcomes_[get].reply;
        auto const last = fence.is_null() ? std::optional<std::uint64_t>(0) : read_token(fence);
        auto const now = read_server_time(outcomes_[time].reply);
        if (!last || !now)
            return malformed_reply(*server_, fence_key(key_));
        return Granted{0, std::max(*last, static_cast<std::uint64_t>(now->count())), request_.ttl, since, nullptr};
    }

    void finish(ClaimReply reply) { std::move(claim_.handler)(std::move(reply)); }

    ServerPtr server_;
    PendingClaim claim_;
    /// of `claim_`
    ClaimRequest const& request_;
    std::string key_;
    std::array<Outcome, steps> outcomes_;
    std::size_t unanswered_ = steps;
    /// the grant that the search has found
    std::optional<Granted> found_;
};

/** @param pending  has its place */
void begin_vote(ServerPtr const& server, PendingClaim&& pending)
{
    if (!pending.request.fencing) {
        claim(server, std::move(pending));
        return;
    }
    server->channel()->note_ttl(pending.request.ttl);
    bool const may_hold_it = pending.request.earliest_attempt.has_value();
    auto const claim = std::make_shared<VotingClaim>(server, std::move(pending));
    if (may_hold_it)
        claim->search();
    else
        claim->start();
}

} // namespace

void claim_vote(ServerPtr const& server, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    PendingClaim pending{std::move(request), std::move(handler)};
    if (take_place(*server, pending))
        begin_vote(server, std::move(pending));
    else
        await_place(
            server, std::move(pending), [server](PendingClaim&& claim) { begin_vote(server, std::move(claim)); });
}

} // namespace tenure::redis
