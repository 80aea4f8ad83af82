// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Releases: batches of releases.
#include "releases.hpp"

#include "key_names.hpp"
#include "publish.hpp"
#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/release_replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

bool leaves_to_rest(ReleaseRequest const& request) noexcept
{
    return request.claim->reuse_after > std::chrono::milliseconds{0};
}

/** The order of a call: range after range, and at last the keys without a message. */
bool is_before(ReleaseRequest const& one, ReleaseRequest const& other)
{
    if (one.notifications != other.notifications)
        return one.notifications;
    return one.notifications && one.claim->range->prefix < other.claim->range->prefix;
}

} // namespace

/** One call for several releases. */
struct Releases::Call {
    Batch batch;
    LineKeys line = {};
    /// number of keys of each range whose waiters are to be notified; they come first in the batch
    std::vector<std::size_t> ranges = {};
    /// the script publishes
    bool by_script = false;
};

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
    std::size_t const limit = server_->channel()->ready() ? most_per_call() : 1;
    Batch batch;
    for (auto& pending : all) {
        if (does_natively(pending.request) || leaves_to_rest(pending.request) || is_redisson(pending.request)) {
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

bool Releases::is_redisson(ReleaseRequest const& request) const
{
    return server_->is_redisson(*request.claim->range);
}

std::size_t Releases::most_per_call() const
{
    // a script for several releases uses several keys in one command
    return server_->has_free_scripts() ? releases_per_call : 1;
}

bool Releases::does_natively(ReleaseRequest const& request) const
{
    return !notifies(request) && !leaves_to_rest(request) && !is_redisson(request) &&
           server_->native_delete() != ServerContext::NativeDelete::none;
}

bool Releases::notifies(ReleaseRequest const& request) const
{
    return request.notifications && server_->may_publish();
}

void Releases::send(Batch batch)
{
    if (batch.size() == 1)
        send_single(std::move(batch.front()));
    else
        send_script(std::make_shared<Call>(Call{std::move(batch)}));
}

void Releases::send_single(Pending pending)
{
    if (does_natively(pending.request))
        send_natively(std::move(pending));
    else
        send_script(std::move(pending));
}

void Releases::send_script(Pending pending)
{
    ++under_way_;
    auto const& request = pending.request;
    auto const& claim = *request.claim;
    bool const for_redisson = is_redisson(request);
    bool const with_line = notifies(request) && !for_redisson && pending.line.declare(*server_);
    bool const by_script = (with_line || (for_redisson && notifies(request))) && server_->publishes_in_scripts();
    auto const& script = for_redisson ? redisson::leave() : scripts::release();
    auto const& begin = pending.attempt.begin(script.for_channels(server_->announces_in_shard()), *server_->channel());
    resp::KeyOf const key{*claim.range, claim.index};
    auto command =
        with_line ? resp::Command(begin, "3", line_of(*claim.range), watched_key_of(*claim.range), key, claim.owner)
                  : resp::Command(begin, "1", key, claim.owner);
    if (leaves_to_rest(request))
        command.add(how_to_publish(*server_)).add(resting_value(claim.owner)).add(claim.reuse_after.count());
    else if (for_redisson)
        command.add(!notifies(request) ? "" : by_script ? server_->channel_of(*claim.range) : "-");
    else if (with_line && !by_script)
        command.add(how_to_publish(*server_));
    command.set_urgency(resp::Urgency::step);
    auto const not_after = request.not_after;
    server_->channel()->execute(
        std::move(command), not_after,
        [self = shared_from_this(), pending = std::move(pending), by_script](Outcome&& outcome) mutable {
            --self->under_way_;
            if (pending.attempt.goes_on(*self->server_->channel(), outcome))
                self->send_script(std::move(pending));
            else
                self->answered(std::move(pending), outcome, by_script);
        });
}

void Releases::answered(Pending pending, Outcome const& outcome, bool by_script)
{
    auto& [request, handler, attempt, line] = pending;
    auto const range = request.claim->range;
    if (line.may_have_refused(*server_, *range, outcome)) {
        send_script(std::move(pending));
        return;
    }
    bool const has_message = line.declared() || is_redisson(request);
    auto const flags = read_release_flags(outcome.reply, 1, has_message ? 1 : 0);
    if (!flags) {
        std::move(handler)(ReleaseReply(failure_of_release(*server_, outcome, request.claim->key())));
        return;
    }
    bool const released = flags->keys == "1";
    if (has_message)
        follow_up(server_, *range, flags->notes, 0, by_script);
    else if (released && notifies(request))
        publish(server_, *range, message_for_all);
    std::move(handler)(
        released ? ReleaseReply(Released{names_another(flags->notes.message(0), server_->waiter())})
                 : ReleaseReply(NotOwner{}));
}

void Releases::send_script(std::shared_ptr<Call> const& call)
{
    ++under_way_;
    auto& batch = call->batch;
    auto const request_of = [](Pending const& pending) -> auto const& { return pending.request; };
    if (!std::ranges::is_sorted(batch, is_before, request_of)) // not needed if all keys are of one range
        std::ranges::stable_sort(batch, is_before, request_of);
    bool const with_line =
        server_->may_publish() && batch.front().request.notifications && call->line.declare(*server_);
    call->by_script = with_line && server_->publishes_in_scripts();
    ScriptCall sent;
    sent.script = &scripts::release_each().for_channels(server_->announces_in_shard());
    sent.urgency = resp::Urgency::step;
    sent.not_after = batch.front().request.not_after;
    sent.values.add(how_to_publish(*server_));
    auto const keys = std::make_shared<resp::EncodedArguments>();
    call->ranges.clear();
    std::string_view prefix;
    for (auto const& pending : batch) {
        auto const& claim = *pending.request.claim;
        keys->add(resp::KeyOf{*claim.range, claim.index});
        sent.values.add(claim.owner);
        sent.not_after = sent.not_after.no_later_than(pending.request.not_after);
        if (!with_line || !pending.request.notifications)
            continue;
        if (call->ranges.empty() || prefix != claim.range->prefix) {
            prefix = claim.range->prefix;
            sent.names.add_all(line_of(*claim.range), watched_key_of(*claim.range));
            call->ranges.push_back(0);
        }
        ++call->ranges.back();
    }
    for (auto const count : call->ranges)
        sent.values.add(count);
    sent.keys = keys;
    run_script(server_->channel(), std::move(sent), [self = shared_from_this(), call](Outcome&& outcome) {
        --self->under_way_;
        self->answered(call, outcome);
    });
}

void Releases::answered(std::shared_ptr<Call> const& call, Outcome const& outcome)
{
    auto& batch = call->batch;
    if (!server_->has_free_scripts() && outcome.delivery == Delivery::answered && outcome.reply.is_error()) {
        // refused since the call was made
        for (auto& pending : batch)
            send_script(std::move(pending));
        return;
    }
    if (call->line.may_have_refused(*server_, *batch.front().request.claim->range, outcome)) {
        send_script(call);
        return;
    }
    if (concerns_single_key(outcome)) {
        auto const reason = server_->refuse(outcome.reply, "release");
        for (auto& [request, handler, attempt, line] : batch)
            send_script({std::move(request), or_refused(std::move(handler), reason)});
        return;
    }
    auto const flags = read_release_flags(outcome.reply, batch.size(), call->ranges.size());
    if (!flags) {
        for (auto& [request, handler, attempt, line] : batch)
            std::move(handler)(ReleaseReply(failure_of_release(*server_, outcome, request.claim->key())));
        return;
    }
    hand_out(*call, *flags);
}

void Releases::hand_out(Call& call, ReleaseFlags const& flags)
{
    auto& batch = call.batch;
    std::vector<std::string_view> named(batch.size());
    std::size_t first = 0;
    for (std::size_t range = 0; range < call.ranges.size(); ++range) {
        follow_up(server_, *batch[first].request.claim->range, flags.notes, range, call.by_script);
        std::size_t position = 0;
        for (auto const end = first + call.ranges[range]; first < end; ++first)
            if (flags.keys[first] == '1')
                named[first] = name_in(flags.notes.message(range), position++);
    }
    std::string_view published;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto& [request, handler, attempt, line] = batch[i];
        bool const released = flags.keys[i] == '1';
        auto const& range = *request.claim->range;
        if (call.ranges.empty() && released && notifies(request) && published != range.prefix) {
            published = range.prefix;
            publish(server_, range, message_for_all);
        }
        std::move(handler)(
            released ? ReleaseReply(Released{!named[i].empty() && named[i] != server_->waiter()})
                     : ReleaseReply(NotOwner{}));
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
    auto& [request, handler, attempt, line] = pending;
    auto const& reply = outcome.reply;
    if (reply.is_integer() && reply.as_integer() == 1) {
        std::move(handler)(ReleaseReply(Released{}));
    } else if (reply.is_integer() && reply.as_integer() == 0) {
        std::move(handler)(ReleaseReply(NotOwner{}));
    } else if (concerns_single_key(outcome) || is_command_unavailable(outcome)) {
        auto reason = server_->refuse_native(reply, request.claim->key());
        send_script({std::move(request), or_refused(std::move(handler), std::move(reason))});
    } else {
        std::move(handler)(ReleaseReply(failure_of(*server_, outcome, request.claim->key())));
    }
}

} // namespace tenure::redis
