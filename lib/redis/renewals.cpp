// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "renewals.hpp"

#include "flags_reply.hpp"
#include "script.hpp"
#include "scripts.hpp"
#include "server_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

constexpr std::size_t claims_per_call = 100;

// A renewal never waits for a connection. One that breaks just now would keep it in its queue, so it must be written
// soon or not at all.
constexpr auto longest_wait = 100ms;

} // namespace

void Renewals::add(RenewRequest request, ReplyHandler<RenewReply> handler)
{
    node_->route()->note_ttl(request.ttl);
    auto batch = pending_.lock();
    if (!batch) {
        batch = std::make_shared<Batch>();
        pending_ = batch;
        node_->runtime().post([self = shared_from_this(), batch] { self->flush(std::move(*batch)); });
    }
    batch->push_back({std::move(request), std::move(handler)});
}

void Renewals::flush(Batch all)
{
    pending_.reset();
    drop_ended(all);
    if (all.empty())
        return;
    if (!node_->route()->ready()) {
        auto const not_sent = Failure::not_sent(
            errc::store_unavailable, node_->where() + ": not connected: " + node_->route()->last_error());
        for (auto& pending : all)
            std::move(pending.handler)(RenewReply(not_sent));
        return;
    }
    auto const by_lifetime = [](Pending const& a, Pending const& b) {
        return a.request.lifetime() < b.request.lifetime();
    };
    if (!std::ranges::is_sorted(all, by_lifetime)) // as they are where all leases have the same ttl
        std::ranges::stable_sort(all, by_lifetime);
    Batch batch;
    for (auto& pending : all) {
        if (!batch.empty() &&
            (batch.size() == claims_per_call || batch.front().request.lifetime() != pending.request.lifetime()))
            send(std::exchange(batch, {}));
        if (batch.empty())
            batch.reserve(std::min(claims_per_call, all.size()));
        batch.push_back(std::move(pending));
    }
    send(std::move(batch));
}

void Renewals::send(Batch batch)
{
    if (batch.size() == 1 && node_->has_set_ifeq() && !node_->delays_after_failover())
        send_natively(std::move(batch.front()));
    else
        send_script(std::move(batch));
}

void Renewals::drop_ended(Batch& batch)
{
    Batch ended;
    std::erase_if(batch, [&](Pending& pending) {
        if (!pending.request.claim->ended.load(std::memory_order_acquire))
            return false;
        ended.push_back(std::move(pending));
        return true;
    });
    for (auto& pending : ended)
        std::move(pending.handler)(RenewReply(Failure::not_sent(errc::released, "the lease is over")));
}

void Renewals::send_script(Batch batch, bool by_text)
{
    drop_ended(batch);
    if (batch.empty())
        return;
    auto keys = std::make_shared<resp::EncodedArguments>();
    keys->add(batch.size());
    ScriptCall call;
    bool const notes_ttl = node_->delays_after_failover();
    call.script = notes_ttl ? &scripts::renew_noting_ttl() : &scripts::renew();
    call.values.add(batch.front().request.lifetime().count());
    call.not_after = node_->runtime().now() + longest_wait;
    std::string key;
    for (auto const& [request, handler] : batch) {
        request.claim->range->assign_key(request.claim->index, key);
        keys->add(key);
        call.values.add(request.claim->owner);
        call.not_after = call.not_after.no_later_than(request.not_after);
    }
    if (notes_ttl)
        call.values.add(node_->marker());
    call.keys = std::move(keys);
    run_script_once(
        *node_->route(), call, by_text,
        [self = shared_from_this(), batch = std::move(batch), by_text](Outcome outcome) mutable {
            if (!by_text && is_unknown_script(outcome))
                self->send_script(std::move(batch), true);
            else
                self->answered(std::move(batch), std::move(outcome));
        });
}

void Renewals::answered(Batch batch, Outcome outcome)
{
    if (outcome.delivery != Delivery::answered) {
        for (auto& pending : batch)
            std::move(pending.handler)(undelivered(Outcome(outcome)));
        return;
    }
    if (outcome.reply.is_error()) {
        auto const error = classify(outcome.reply.as_string());
        if (batch.size() > 1 && concerns_single_key(error)) {
            auto const reason = node_->refuse(error, "renewal");
            for (auto& pending : batch)
                retry_alone(std::move(pending), reason);
            return;
        }
        for (auto& pending : batch)
            std::move(pending.handler)(RenewReply(node_->refuse(error, pending.request.claim->key())));
        return;
    }
    auto const flags = read_flags(outcome.reply, batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto& [request, handler] = batch[i];
        if (!flags)
            std::move(handler)(RenewReply(nonsense(*node_, request.claim->key())));
        else if (flags->own[i] == '1')
            std::move(handler)(renewed(request, outcome));
        else
            std::move(handler)(RenewReply(NotOwner{}));
    }
}

RenewReply Renewals::renewed(RenewRequest const& request, Outcome const& outcome) const
{
    if (outcome.shortfall == nullptr)
        return Renewed{request.ttl, outcome.since};
    return Failure::unknown(
        outcome.shortfall->error,
        node_->where() + ": " + request.claim->key() + ": the renewal does not count: " + outcome.shortfall->detail);
}

void Renewals::retry_alone(Pending pending, Failure reason)
{
    // What this one could not send, the batch did: refused is what is known about it.
    auto handler = [handler = std::move(pending.handler), reason = std::move(reason)](RenewReply reply) mutable {
        if (failed_as(reply, Failure::Effect::not_sent))
            std::move(handler)(RenewReply(std::move(reason)));
        else
            std::move(handler)(std::move(reply));
    };
    Batch single;
    single.push_back({std::move(pending.request), std::move(handler)});
    send_script(std::move(single));
}

void Renewals::send_natively(Pending pending)
{
    auto const& claim = *pending.request.claim;
    resp::Command command("SET");
    command.add(claim.key()).add(claim.owner).add("IFEQ").add(claim.owner).add("PX");
    command.add(pending.request.lifetime().count());
    auto const not_after = std::min(pending.request.not_after, node_->runtime().now() + longest_wait);
    node_->route()->execute(
        std::move(command), not_after,
        [self = shared_from_this(), pending = std::move(pending)](Outcome outcome) mutable {
            auto& [request, handler] = pending;
            if (outcome.delivery != Delivery::answered) {
                std::move(handler)(undelivered(std::move(outcome)));
            } else if (outcome.reply.is_ok()) {
                std::move(handler)(self->renewed(request, outcome));
            } else if (outcome.reply.is_null()) {
                std::move(handler)(RenewReply(NotOwner{}));
            } else if (!outcome.reply.is_error()) {
                std::move(handler)(RenewReply(nonsense(*self->node_, request.claim->key())));
            } else if (auto const error = classify(outcome.reply.as_string()); concerns_single_key(error)) {
                // Refused, unknown after all, or a key of another type: the script can tell.
                if (error.error != errc::key_conflict)
                    self->node_->native_refused();
                auto reason = self->node_->refuse(error, request.claim->key());
                self->retry_alone(std::move(pending), std::move(reason));
            } else {
                std::move(handler)(RenewReply(self->node_->refuse(error, request.claim->key())));
            }
        });
}

} // namespace tenure::redis
