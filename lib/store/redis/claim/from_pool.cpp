// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims of several owners on one pool in one script call.
#include "claim.hpp"

#include "store/redis/line_keys.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/wire/command.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

class PoolClaim final : public resp::LateCommand
{
public:
    PoolClaim(ServerPtr server, PendingClaims claims, OneShot<void()> answered)
        : server_(std::move(server))
        , claims_(std::move(claims))
        , answered_(std::move(answered))
        , range_(claims_.front().request.range)
    {
    }

    void send()
    {
        resp::Command command(shared_from_this());
        command.set_urgency(attempt_.is_first() ? claims_.front().urgency : resp::Urgency::step);
        server_->channel()->execute(
            std::move(command), earliest_deadline(claims_),
            [self = shared(*this)](Outcome const& outcome) { self->answered(outcome); });
    }

    [[nodiscard]] std::optional<resp::Command> compose(Instant now) override
    {
        drop_late(*server_, claims_, now);
        if (claims_.empty())
            return std::nullopt;
        auto const& first = claims_.front().request;
        bool const may_close = server_->delays_after_failover();
        auto const& script = may_close ? scripts::first_free_each_after_failover() : scripts::first_free_each();
        survey_ = survey_is_due(server_->ranges(), first, now);
        bool const with_line = first.waits != Waits::no && line_.declare(*server_);
        auto call = claim_call(*server_, script, first, survey_, with_line, std::span(claims_).subspan(1), may_close);
        call.keys = server_->ranges().keys(range_, 0);
        return command_of(call, attempt_, *server_->channel());
    }

private:
    void answered(Outcome const& outcome)
    {
        if (attempt_.goes_on(*server_->channel(), outcome) || line_.may_have_refused(*server_, *range_, outcome)) {
            send();
            return;
        }
        std::move(answered_)();
        if (claims_.empty())
            return;
        if (outcome.delivery == Delivery::not_sent && !outcome.fatal)
            send_each_alone(std::nullopt);
        else if (concerns_single_key(outcome))
            send_each_alone(outcome.since);
        else if (!outcome.succeeded())
            answer_all(claims_, [&](auto const&) { return failure_of_claim(*server_, outcome, *range_); });
        else
            ran(outcome);
    }

    /** @param since  the call may have taken keys before one was refused, so each owner is searched for first */
    void send_each_alone(std::optional<Instant> since)
    {
        for (auto& pending : claims_) {
            pending.request.earliest_attempt = since;
            pending.urgency = resp::Urgency::step;
            claim(server_, std::move(pending));
        }
    }

    void ran(Outcome const& outcome)
    {
        bool const fencing = claims_.front().request.fencing;
        auto const reply = read_shared_page_reply(outcome.reply, range_->count, claims_.size(), fencing);
        auto const* const closed = reply ? std::get_if<PageClosed>(&*reply) : nullptr;
        if (!reply || (closed != nullptr && !server_->delays_after_failover())) {
            answer_all(claims_, [this](auto const&) { return malformed_reply(*server_, range_->describe()); });
            return;
        }
        if (closed != nullptr) {
            auto const busy = closed_reply(*server_, *closed);
            answer_all(claims_, [&](auto const&) { return busy; });
            return;
        }
        hand_out(std::get<SharedPage>(*reply), outcome);
    }

    void hand_out(SharedPage const& page, Outcome const& outcome)
    {
        auto const& granted = page.granted;
        server_->ranges().note_first_free(range_, granted.empty() ? std::nullopt : std::optional(granted.front()));
        Busy busy;
        if (page.held) {
            note_place(*server_, *range_, *page.held);
            auto const seen = survey_
                                  ? std::optional(Survey{page.held->earliest_expiry, page.held->foreign.value_or(0)})
                                  : std::nullopt;
            busy = busy_reply(server_->ranges(), range_, server_->runtime().now(), seen);
        }
        std::size_t i = 0;
        answer_all(claims_, [&](ClaimRequest const& request) -> ClaimReply {
            if (i == granted.size())
                return busy;
            return confirmed(
                *server_, *range_, Granted{granted[i++], page.token, request.ttl, outcome.since, nullptr}, outcome);
        });
    }

    ServerPtr server_;
    PendingClaims claims_;
    OneShot<void()> answered_;
    KeyRangePtr range_;
    LineKeys line_;
    /// a busy answer shall include the first expiry and the number of foreign keys
    bool survey_ = false;
    ScriptAttempt attempt_;
};

} // namespace

void claim_from_pool(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered)
{
    server->channel()->note_ttl(claims.front().request.ttl);
    std::make_shared<PoolClaim>(server, std::move(claims), std::move(answered))->send();
}

} // namespace tenure::redis
