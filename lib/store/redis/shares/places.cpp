// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Releases and withdrawals of places, several in one call.
#include "places.hpp"

#include "replies.hpp"
#include "scripts.hpp"
#include "store/redis/key_names.hpp"
#include "store/redis/publish.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redis
{

/** One call for several places. */
struct Places::Call {
    Batch batch;
    PlaceMessage message = {};
};

void Places::release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto const& claim = *request.claim;
    add(
        {claim.range, claim.owner, request.not_after, request.notifications,
         [handler = std::move(handler)](Left&& left) mutable {
             if (auto* const failure = std::get_if<Failure>(&left))
                 std::move(handler)(ReleaseReply(std::move(*failure)));
             else
                 std::move(handler)(std::get<bool>(left) ? ReleaseReply(Released{}) : ReleaseReply(NotOwner{}));
         }});
}

void Places::withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    add(
        {std::move(request.range), std::move(request.owner), request.not_after, request.notifications,
         [handler = std::move(handler)](Left&& left) mutable {
             auto* const failure = std::get_if<Failure>(&left);
             std::move(handler)(failure != nullptr ? WithdrawReply(std::move(*failure)) : WithdrawReply(Released{}));
         }});
}

void Places::add(Pending pending)
{
    auto batch = pending_.lock();
    if (!batch) {
        batch = std::make_shared<Batch>();
        pending_ = batch;
        server_->runtime().post([self = shared_from_this(), batch] { self->flush(std::move(*batch)); });
    }
    batch->push_back(std::move(pending));
}

void Places::flush(Batch all)
{
    pending_.reset();
    // Those that wait for a connection keep their own deadlines, and a call for several uses several keys in a script.
    std::size_t const limit = server_->channel()->ready() && server_->has_free_scripts() ? places_per_call : 1;
    std::ranges::stable_partition(all, &Pending::notifications);
    std::shared_ptr<Call> call;
    for (auto& pending : all) {
        if (call && (call->batch.size() == limit || call->batch.front().notifications != pending.notifications))
            send(std::exchange(call, nullptr));
        if (!call)
            call = std::make_shared<Call>();
        call->batch.push_back(std::move(pending));
    }
    send(call);
}

void Places::send(std::shared_ptr<Call> const& call)
{
    auto const& batch = call->batch;
    auto const how = call->message.begin(*server_, batch.front().notifications);
    ScriptCall sent;
    sent.script = &place_scripts::leave().for_server(*server_);
    sent.urgency = resp::Urgency::step;
    sent.not_after = Deadline(std::ranges::min_element(batch, {}, &Pending::not_after)->not_after);
    sent.with_run_id = server_->delays_after_failover();
    if (sent.with_run_id)
        sent.names.add(server_->marker());
    sent.values.add(how);
    for (auto const& pending : batch) {
        if (!how.empty())
            sent.names.add(watched_key_of(*pending.range));
        sent.names.add(pending.range->key(0));
        sent.values.add(pending.owner);
    }
    run_script(server_->channel(), std::move(sent), [self = shared_from_this(), call](Outcome const& outcome) {
        if (call->message.may_have_refused(*self->server_, *call->batch.front().range, outcome))
            self->send(call);
        else
            self->answered(*call, outcome);
    });
}

void Places::answered(Call& call, Outcome const& outcome)
{
    auto& batch = call.batch;
    if (batch.size() > 1 && outcome.refused() && (concerns_single_key(outcome) || !server_->has_free_scripts())) {
        send_each_alone(std::move(batch), server_->refuse(outcome.reply, "release"));
        return;
    }
    auto const left = outcome.succeeded() ? read_left_places(outcome.reply, batch.size()) : std::nullopt;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto& [range, owner, not_after, notifications, handler] = batch[i];
        if (!left) {
            std::move(handler)(Left(failure_of_release(*server_, outcome, range->key(0))));
            continue;
        }
        call.message.end(server_, *range, left->note(i));
        std::move(handler)(Left(left->flags[i] == '1'));
    }
}

void Places::send_each_alone(Batch batch, Failure const& reason)
{
    for (auto& pending : batch) {
        pending.handler = or_refused(std::move(pending.handler), reason);
        auto const alone = std::make_shared<Call>();
        alone->batch.push_back(std::move(pending));
        send(alone);
    }
}

} // namespace tenure::redis
