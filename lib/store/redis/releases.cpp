// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Releases: batches of releases.
#include "releases.hpp"

#include "key_names.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::redis
{

namespace
{

Script const& script_for(ServerContext const& server)
{
    return server.announces_in_shard() ? scripts::release_in_shard() : scripts::release();
}

bool leaves_to_rest(ReleaseRequest const& request) noexcept
{
    return request.claim->reuse_after > std::chrono::milliseconds{0};
}

} // namespace

void Releases::add(ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    Pending pending{std::move(request), std::move(handler)};
    auto batch = pending_.lock();
    if (!batch && under_way_ == 0 && !has_company_) {
        send_single(std::move(pending));
        return;
    }
    if (!batch) {
        batch = std::make_shared<Batch>();
        pending_ = batch;
        server_->runtime().post([self = shared_from_this(), batch] { self->flush(std::move(*batch)); });
    }
    batch->push_back(std::move(pending));
}

void Releases::flush(Batch all)
{
    pending_.reset();
    has_company_ = all.size() > 1;
    // Releases that wait for a connection keep their own deadlines, so they are not grouped.
    std::size_t const limit = server_->channel()->ready() ? releases_per_call : 1;
    Batch batch;
    for (auto& pending : all) {
        if (does_natively(pending.request) || leaves_to_rest(pending.request)) {
            send_single(std::move(pending));
            continue;
        }
        batch.push_back(std::move(pending));
        if (batch.size() == limit)
            send(std::exchange(batch, {}));
    }
    if (!batch.empty())
        send(std::move(batch));
}

bool Releases::does_natively(ReleaseRequest const& request) const
{
    return !(request.notifications && server_->may_publish()) && !leaves_to_rest(request) &&
           server_->native_delete() != ServerContext::NativeDelete::none;
}

void Releases::send(Batch batch)
{
    if (batch.size() == 1)
        send_single(std::move(batch.front()));
    else
        send_script(std::move(batch));
}

void Releases::send_single(Pending pending)
{
    if (does_natively(pending.request))
        send_natively(std::move(pending));
    else
        send_script(std::move(pending), false);
}

void Releases::send_script(Pending pending, bool by_text)
{
    ++under_way_;
    auto const& script = script_for(*server_);
    auto const& [claim, not_after, notifications, keep_for] = pending.request;
    auto const until = not_after;
    auto const stem = notifications && server_->may_publish() ? stem_of(*claim->range) : std::string();
    auto const name = server_->name_in_line();
    auto const& begin = by_text ? script.one_key_by_text : script.one_key_by_name;
    resp::KeyOf const key{*claim->range, claim->index};
    auto command = leaves_to_rest(pending.request) ? resp::Command(
                                                         begin, key, claim->owner, name, stem,
                                                         resting_value(claim->owner), claim->reuse_after.count())
                   : stem.empty() ? resp::Command(begin, key, claim->owner)
                                  : resp::Command(begin, key, claim->owner, name, stem);
    command.set_urgency(resp::Urgency::step);
    server_->channel()->execute(
        std::move(command), until,
        [self = shared_from_this(), pending = std::move(pending), by_text](Outcome&& outcome) mutable {
            --self->under_way_;
            if (!by_text && is_unknown_script(outcome))
                self->send_script(std::move(pending), true);
            else
                self->answered({&pending, 1}, outcome);
        });
}

void Releases::send_script(Batch batch)
{
    ++under_way_;
    bool const may_publish = server_->may_publish();
    auto keys = std::make_shared<resp::EncodedArguments>();
    resp::EncodedArguments stems;
    bool any_stem = false;
    keys->add(batch.size());
    ScriptCall call;
    call.script = &script_for(*server_);
    call.urgency = resp::Urgency::step;
    call.not_after = batch.front().request.not_after;
    for (auto const& [request, handler] : batch) {
        keys->add(request.claim->key());
        call.values.add(request.claim->owner);
        bool const publish = request.notifications && may_publish;
        stems.add(publish ? stem_of(*request.claim->range) : std::string());
        any_stem = any_stem || publish;
        call.not_after = call.not_after.no_later_than(request.not_after);
    }
    if (any_stem)
        call.values.add(server_->name_in_line()).add(stems);
    call.keys = std::move(keys);
    run_script(
        server_->channel(), std::move(call),
        [self = shared_from_this(), batch = std::move(batch)](Outcome&& outcome) mutable {
            --self->under_way_;
            self->answered(batch, outcome);
        });
}

void Releases::answered(std::span<Pending> batch, Outcome const& outcome)
{
    if (batch.size() > 1 && concerns_single_key(outcome)) {
        auto const reason = server_->refuse(outcome.reply, "release");
        for (auto& [request, handler] : batch)
            send_script({std::move(request), or_refused(std::move(handler), reason)}, false);
        return;
    }
    auto const flags = read_release_flags(outcome.reply, batch.size());
    if (flags)
        take_notes(*server_, *batch.front().request.claim->range, flags->notes);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto& [request, handler] = batch[i];
        if (!flags)
            std::move(handler)(ReleaseReply(failure_of(*server_, outcome, request.claim->key())));
        else if (flags->keys[i] == '0')
            std::move(handler)(ReleaseReply(NotOwner{}));
        else
            std::move(handler)(ReleaseReply(Released{flags->keys[i] == '2'}));
    }
}

void Releases::send_natively(Pending pending)
{
    ++under_way_;
    auto const& claim = *pending.request.claim;
    resp::KeyOf const key{*claim.range, claim.index};
    auto command = server_->native_delete() == ServerContext::NativeDelete::delifeq
                       ? resp::Command("DELIFEQ", key, claim.owner)
                       : resp::Command("DELEX", key, "IFEQ", claim.owner);
    command.set_urgency(resp::Urgency::step);
    auto const not_after = pending.request.not_after;
    server_->channel()->execute(
        std::move(command), not_after,
        [self = shared_from_this(), pending = std::move(pending)](Outcome&& outcome) mutable {
            --self->under_way_;
            self->answered_natively(std::move(pending), outcome);
        });
}

void Releases::answered_natively(Pending pending, Outcome const& outcome)
{
    auto& [request, handler] = pending;
    auto const& reply = outcome.reply;
    if (reply.is_integer() && reply.as_integer() == 1) {
        std::move(handler)(ReleaseReply(Released{}));
    } else if (reply.is_integer() && reply.as_integer() == 0) {
        std::move(handler)(ReleaseReply(NotOwner{}));
    } else if (concerns_single_key(outcome) || is_command_unavailable(outcome)) {
        auto reason = server_->refuse_native(reply, request.claim->key());
        send_script({std::move(request), or_refused(std::move(handler), std::move(reason))}, false);
    } else {
        std::move(handler)(ReleaseReply(failure_of(*server_, outcome, request.claim->key())));
    }
}

} // namespace tenure::redis
