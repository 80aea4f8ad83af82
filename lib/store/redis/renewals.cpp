// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals: batches of renewals.
#include "renewals.hpp"

#include "replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

constexpr std::size_t claims_per_call = 100;

// A renewal does not wait for a connection. A connection that breaks now would keep it in its queue, so it must be
// written soon or not at all.
constexpr auto longest_wait = 100ms;

/** Answers all requests of the batch in one call of its handler. */
template <class Batch, class ReplyTo>
void answer(Batch const& batch, ReplyTo reply_to)
{
    std::vector<RenewAnswer> answers;
    answers.reserve(batch.pending.size());
    for (auto const& pending : batch.pending)
        answers.push_back({pending.number, reply_to(pending.request)});
    (*batch.handler)(answers);
}

} // namespace

void Renewals::add(std::vector<RenewRequest> requests, RenewHandler handler)
{
    Batch all;
    all.handler = std::make_shared<RenewHandler const>(std::move(handler));
    all.pending.reserve(requests.size());
    for (auto& request : requests) {
        server_->channel()->note_ttl(request.ttl);
        all.pending.push_back({std::move(request), all.pending.size()});
    }
    server_->runtime().post(
        [self = shared_from_this(), all = std::move(all)]() mutable { self->begin(std::move(all)); });
}

void Renewals::begin(Batch all)
{
    drop_ended(all);
    if (all.pending.empty())
        return;
    if (!server_->channel()->ready()) {
        auto const why = Failure::not_sent(
            errc::store_unavailable, server_->where() + ": not connected: " + server_->channel()->last_error());
        answer(all, [&why](RenewRequest const&) { return RenewReply(why); });
        return;
    }
    auto const by_lifetime = [](Pending const& a, Pending const& b) {
        return a.request.lifetime() < b.request.lifetime();
    };
    if (!std::ranges::is_sorted(all.pending, by_lifetime)) // not needed if all leases have the same ttl
        std::ranges::stable_sort(all.pending, by_lifetime);
    Batch batch{{}, all.handler};
    for (auto& pending : all.pending) {
        bool const is_full = batch.pending.size() == claims_per_call;
        if (is_full ||
            (!batch.pending.empty() && batch.pending.front().request.lifetime() != pending.request.lifetime()))
            send(std::exchange(batch, Batch{{}, all.handler}));
        batch.pending.push_back(std::move(pending));
    }
    send(std::move(batch));
}

void Renewals::send(Batch batch)
{
    if (batch.pending.size() == 1 && server_->has_set_ifeq() && !server_->delays_after_failover())
        send_natively(std::move(batch));
    else
        send_script(std::move(batch));
}

void Renewals::drop_ended(Batch& batch)
{
    Batch ended{{}, batch.handler};
    std::erase_if(batch.pending, [&](Pending& pending) {
        if (!pending.request.claim->mark.ended.load(std::memory_order_acquire))
            return false;
        ended.pending.push_back(std::move(pending));
        return true;
    });
    if (!ended.pending.empty())
        answer(ended, [](RenewRequest const&) { return Failure::not_sent(errc::released, "the lease is over"); });
}

void Renewals::send_script(Batch batch, bool by_text)
{
    drop_ended(batch);
    if (batch.pending.empty())
        return;
    auto keys = std::make_shared<resp::EncodedArguments>();
    keys->add(batch.pending.size());
    ScriptCall call;
    bool const notes_ttl = server_->delays_after_failover();
    call.script = notes_ttl ? &scripts::renew_noting_ttl() : &scripts::renew();
    call.values.add(batch.pending.front().request.lifetime().count());
    call.not_after = server_->runtime().now() + longest_wait;
    std::string key;
    for (auto const& [request, number] : batch.pending) {
        request.claim->range->assign_key(request.claim->index, key);
        keys->add(key);
        call.values.add(request.claim->owner);
        call.not_after = call.not_after.no_later_than(request.not_after);
    }
    if (notes_ttl)
        call.values.add(server_->marker());
    call.keys = std::move(keys);
    run_script_once(
        *server_->channel(), call, by_text,
        [self = shared_from_this(), batch = std::move(batch), by_text](Outcome const& outcome) mutable {
            if (!by_text && is_unknown_script(outcome))
                self->send_script(std::move(batch), true);
            else
                self->answered(std::move(batch), outcome);
        });
}

void Renewals::answered(Batch batch, Outcome const& outcome)
{
    if (batch.pending.size() > 1 && concerns_single_key(outcome)) {
        auto const reason = server_->refuse(outcome.reply, "renewal");
        for (auto& pending : batch.pending)
            retry_alone(std::move(pending), batch.handler, reason);
        return;
    }
    auto const flags = read_renewed_flags(outcome.reply, batch.pending.size());
    std::size_t i = 0;
    answer(batch, [&](RenewRequest const& request) -> RenewReply {
        if (!flags)
            return failure_of(*server_, outcome, request.claim->key());
        if ((*flags)[i++] == '1')
            return renewed(request, outcome);
        return NotOwner{};
    });
}

RenewReply Renewals::renewed(RenewRequest const& request, Outcome const& outcome) const
{
    if (outcome.shortfall == nullptr)
        return Renewed{request.ttl, outcome.since};
    return Failure::unknown(
        outcome.shortfall->error,
        server_->where() + ": " + request.claim->key() + ": the renewal does not count: " + outcome.shortfall->detail);
}

void Renewals::retry_alone(Pending pending, std::shared_ptr<RenewHandler const> const& handler, Failure reason)
{
    // If this call was not sent either, the refusal of the batch is the answer.
    auto unless_sent = [handler, reason = std::move(reason)](std::span<RenewAnswer> answers) {
        for (auto& answer : answers)
            if (failed_as(answer.reply, Failure::Effect::not_sent))
                answer.reply = reason;
        (*handler)(answers);
    };
    Batch single{{}, std::make_shared<RenewHandler const>(std::move(unless_sent))};
    single.pending.push_back(std::move(pending));
    send_script(std::move(single));
}

void Renewals::send_natively(Batch single)
{
    auto const& request = single.pending.front().request;
    auto const& claim = *request.claim;
    resp::Command command("SET");
    command.add(claim.key()).add(claim.owner).add("IFEQ").add(claim.owner).add("PX");
    command.add(request.lifetime().count());
    auto const not_after = std::min(request.not_after, server_->runtime().now() + longest_wait);
    server_->channel()->execute(
        std::move(command), not_after,
        [self = shared_from_this(), single = std::move(single)](Outcome const& outcome) mutable {
            self->answered_natively(std::move(single), outcome);
        });
}

void Renewals::answered_natively(Batch single, Outcome const& outcome)
{
    if (concerns_single_key(outcome) || is_command_unavailable(outcome)) {
        auto& pending = single.pending.front();
        auto reason = server_->refuse_native(outcome.reply, pending.request.claim->key());
        retry_alone(std::move(pending), single.handler, std::move(reason));
        return;
    }
    answer(single, [&](RenewRequest const& request) -> RenewReply {
        if (outcome.delivery == Delivery::answered && outcome.reply.is_ok())
            return renewed(request, outcome);
        if (outcome.delivery == Delivery::answered && outcome.reply.is_null())
            return NotOwner{};
        return failure_of(*server_, outcome, request.claim->key());
    });
}

} // namespace tenure::redis
