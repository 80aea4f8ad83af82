// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals: batches of renewals.
#include "renewals.hpp"

#include "renewal_batch.hpp"
#include "replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

namespace tenure::redis
{

namespace
{

/** The command waits for its turn on a working connection, before everything but other renewals. */
resp::Command as_renewal(resp::Command command)
{
    command.set_urgency(resp::Urgency::renewal).need_connection();
    return command;
}

} // namespace

void Renewals::add(std::vector<RenewRequest> requests, RenewHandler handler)
{
    auto const all = std::make_shared<RenewalBatch>(server_, std::make_shared<RenewHandler const>(std::move(handler)));
    all->pending().reserve(requests.size());
    for (auto& request : requests) {
        server_->channel()->note_ttl(request.ttl);
        all->pending().push_back({std::move(request), all->pending().size()});
    }
    server_->runtime().post([self = shared_from_this(), all] { self->begin(*all); });
}

void Renewals::begin(RenewalBatch& all)
{
    all.drop_ended();
    all.answer_ended();
    if (all.pending().empty())
        return;
    if (!server_->channel()->connected()) {
        auto const why = Failure::not_sent(
            errc::store_unavailable, server_->where() + ": not connected: " + server_->channel()->last_error());
        all.answer([&why](RenewRequest const&) { return RenewReply(why); });
        return;
    }
    // what the renewals of a call have in common
    auto const kind_of = [this](RenewalBatch::Pending const& pending) {
        auto const& range = *pending.request.claim->range;
        return std::tuple(pending.request.lifetime(), range.shares, server_->is_redisson(range));
    };
    if (!std::ranges::is_sorted(all.pending(), {}, kind_of)) // not needed if all leases have the same ttl
        std::ranges::stable_sort(all.pending(), {}, kind_of);
    BatchPtr batch;
    for (auto& pending : all.pending()) {
        if (batch &&
            (batch->pending().size() == claims_per_call || kind_of(batch->pending().front()) != kind_of(pending)))
            send(std::exchange(batch, nullptr));
        if (!batch)
            batch = std::make_shared<RenewalBatch>(server_, all.handler());
        batch->pending().push_back(std::move(pending));
    }
    send(batch);
}

void Renewals::send(BatchPtr const& batch)
{
    auto const& range = *batch->pending().front().request.claim->range;
    bool const is_string = !range.shares && !server_->is_redisson(range);
    if (batch->pending().size() == 1 && server_->has_set_ifeq() && !server_->delays_after_failover() && is_string)
        send_natively(batch);
    else
        send_script(batch);
}

void Renewals::send_script(BatchPtr const& batch)
{
    server_->channel()->execute(
        as_renewal(resp::Command(batch)), Deadline(batch->not_after()),
        [self = shared_from_this(), batch](Outcome&& outcome) { self->answered(batch, outcome); });
}

void Renewals::answered(BatchPtr const& batch, Outcome const& outcome)
{
    batch->answer_ended();
    if (batch->pending().empty())
        return;
    if (outcome.delivery == Delivery::not_sent && !outcome.fatal && server_->channel()->connected() &&
        batch->not_after() <= server_->runtime().now()) {
        too_late(batch);
        return;
    }
    if (batch->attempt().goes_on(*server_->channel(), outcome)) {
        send_script(batch);
        return;
    }
    if (batch->pending().size() > 1 && concerns_single_key(outcome)) {
        retry_each_alone(*batch, server_->refuse(outcome.reply, "renewal"));
        return;
    }
    auto const flags = read_renewed_flags(outcome.reply, batch->pending().size());
    std::size_t i = 0;
    batch->answer([&](RenewRequest const& request) -> RenewReply {
        if (!flags)
            return failure_of(*server_, outcome, request.claim->key());
        if ((*flags)[i++] == '1')
            return renewed(request, outcome);
        return NotOwner{};
    });
}

void Renewals::too_late(BatchPtr const& batch)
{
    auto const now = server_->runtime().now();
    auto const rest = std::make_shared<RenewalBatch>(server_, batch->handler());
    std::erase_if(batch->pending(), [&](RenewalBatch::Pending& pending) {
        if (pending.request.not_after <= now)
            return false;
        rest->pending().push_back(std::move(pending));
        return true;
    });
    batch->answer([](RenewRequest const&) { return RenewReply(Failure::dropped()); });
    if (!rest->pending().empty())
        send(rest);
}

RenewReply Renewals::renewed(RenewRequest const& request, Outcome const& outcome) const
{
    if (outcome.shortfall == nullptr)
        return Renewed{request.ttl, outcome.since};
    return Failure::unknown(
        outcome.shortfall->error,
        server_->where() + ": " + request.claim->key() + ": the renewal does not count: " + outcome.shortfall->detail);
}

void Renewals::retry_each_alone(RenewalBatch& batch, Failure const& reason)
{
    // If this call was not sent either, the refusal of the batch is the answer.
    auto const unless_sent =
        std::make_shared<RenewHandler const>([handler = batch.handler(), reason](std::span<RenewAnswer> answers) {
            for (auto& answer : answers)
                if (failed_as(answer.reply, Failure::Effect::not_sent))
                    answer.reply = reason;
            (*handler)(answers);
        });
    for (auto& pending : batch.pending()) {
        auto const single = std::make_shared<RenewalBatch>(server_, unless_sent);
        single->pending().push_back(std::move(pending));
        send_script(single);
    }
    batch.pending().clear();
}

void Renewals::send_natively(BatchPtr const& single)
{
    auto const& request = single->pending().front().request;
    auto const& claim = *request.claim;
    resp::Command command("SET");
    command.add(claim.key()).add(claim.owner).add("IFEQ").add(claim.owner).add("PX");
    command.add(request.lifetime().count());
    // the lease may end while the command waits
    Deadline const until(request.not_after, Deadline::Mark(request.claim, &claim.mark));
    server_->channel()->execute(
        as_renewal(std::move(command)), until,
        [self = shared_from_this(), single](Outcome&& outcome) { self->answered_natively(single, outcome); });
}

void Renewals::answered_natively(BatchPtr const& single, Outcome const& outcome)
{
    // if it was not written, the lease may have ended meanwhile
    single->drop_ended();
    if (single->pending().empty()) {
        single->answer_ended();
        return;
    }
    if (concerns_single_key(outcome) || is_command_unavailable(outcome)) {
        retry_each_alone(
            *single, server_->refuse_native(outcome.reply, single->pending().front().request.claim->key()));
        return;
    }
    single->answer([&](RenewRequest const& request) -> RenewReply {
        if (outcome.delivery == Delivery::answered && outcome.reply.is_ok())
            return renewed(request, outcome);
        if (outcome.delivery == Delivery::answered && outcome.reply.is_null())
            return NotOwner{};
        return failure_of(*server_, outcome, request.claim->key());
    });
}

} // namespace tenure::redis
