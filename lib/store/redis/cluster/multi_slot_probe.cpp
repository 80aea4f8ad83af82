// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Probes and surveys of keys in many hash slots.
#include "multi_slot_probe.hpp"

#include "store/redis/range_cache.hpp"
#include "store/redis/replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

KeyProbe read_probe(resp::Value const& reply)
{
    if (!reply.is_integer())
        return KeyProbe::unreadable;
    switch (reply.as_integer()) {
    case 0:
        return KeyProbe::free;
    case 1:
        return KeyProbe::held;
    case 2:
        return KeyProbe::own;
    default:
        return KeyProbe::unreadable;
    }
}

ScriptCall call_for(Script const& script, KeyRange const& range, std::uint32_t index, Deadline deadline)
{
    ScriptCall call;
    call.script = &script;
    call.keys = encode_keys(range, index, 1);
    call.not_after = deadline;
    call.urgency = resp::Urgency::step;
    return call;
}

Failure reason(ServerContext& node, Outcome const& outcome, std::string const& key)
{
    if (outcome.delivery == Delivery::answered) {
        auto failure = outcome.reply.is_error() ? node.refuse(outcome.reply, key) : nonsense(node, key);
        // the claim itself was not sent
        failure.effect = Failure::Effect::not_sent;
        return failure;
    }
    auto const error = outcome.error ? outcome.error : make_error_code(errc::store_unavailable);
    return Failure::not_sent(error, node.where() + ": " + key + ": " + outcome.detail, outcome.fatal);
}

struct PartedSurvey {
    std::shared_ptr<SlotContexts> slots;
    KeyRangePtr range;
    Deadline deadline;
    std::function<void(MultiSlotSurvey)> handler;
    MultiSlotSurvey seen = {};
};

void add(MultiSlotSurvey& seen, Outcome const& outcome)
{
    auto const reply = outcome.delivery == Delivery::answered ? read_page_reply(outcome.reply, 1, false) : std::nullopt;
    auto const* const held = reply ? std::get_if<PageHeld>(&*reply) : nullptr;
    if (held == nullptr)
        return;
    ++seen.seen;
    seen.foreign += held->foreign.value_or(0);
    auto const& expiry = held->earliest_expiry;
    if (expiry && (!seen.earliest_expiry || *expiry < *seen.earliest_expiry))
        seen.earliest_expiry = expiry;
}

void survey_from(std::shared_ptr<PartedSurvey> const& all, std::uint32_t first)
{
    auto const part = part_of(all->range, first, largest_probe);
    auto const replies = std::make_shared<Gathering>(all->slots, [all, part] {
        if (part.end() < all->range->count && !all->deadline.over(all->slots->runtime().now()))
            survey_from(all, part.end());
        else
            all->handler(all->seen);
    });
    for (auto index = part.first; index < part.end(); ++index) {
        auto const& channel = all->slots->of(*all->range, index).channel;
        if (!channel->is_lost())
            run_script(
                channel, call_for(scripts::survey(), *all->range, index, all->deadline),
                replies->handler([all](Outcome const& outcome) { add(all->seen, outcome); }));
    }
    replies->wait(all->deadline.at());
}

} // namespace

void probe(
    std::shared_ptr<SlotContexts> const& slots, MultiSlotPart const& part, ProbeRequest const& request,
    std::function<void(Probes)> handler)
{
    auto const& [owner, deadline, searching, urgency] = request;
    auto const probes = std::make_shared<Probes>();
    probes->keys.assign(part.count, KeyProbe::unreadable);
    auto const replies = std::make_shared<Gathering>(slots, [slots, probes, handler = std::move(handler), part] {
        auto const missing = std::ranges::find(probes->keys, KeyProbe::unreadable);
        if (missing != probes->keys.end() && !probes->why) {
            auto const index = part.first + static_cast<std::uint32_t>(missing - probes->keys.begin());
            auto const& slot = slots->of(*part.range, index);
            probes->why = Failure::not_sent(
                errc::store_unavailable, slot.follows->where() + ": " + part.range->key(index) +
                                             ": not looked at in time: " + slot.channel->last_error());
        }
        handler(std::move(*probes));
    });
    for (std::uint32_t i = 0; i < part.count; ++i) {
        auto const key = part.range->key(part.first + i);
        auto const& slot = slots->at(hash_slot(key));
        if (!searching && slot.channel->is_lost())
            continue;
        auto answered = replies->handler([probes, i, key, at = slot.follows](Outcome const& outcome) {
            if (outcome.delivery == Delivery::answered)
                probes->keys[i] = read_probe(outcome.reply);
            if (probes->keys[i] == KeyProbe::unreadable && !probes->why)
                probes->why = reason(*at, outcome, key);
        });
        if (searching) {
            auto call = call_for(scripts::probe(), *part.range, part.first + i, deadline);
            call.values.add(owner);
            call.urgency = urgency;
            run_script(slot.channel, std::move(call), std::move(answered));
        } else {
            resp::Command exists("EXISTS", key);
            exists.set_urgency(urgency);
            slot.channel->execute(std::move(exists), deadline, std::move(answered));
        }
    }
    replies->wait(deadline.at());
}

void survey(
    std::shared_ptr<SlotContexts> const& slots, KeyRangePtr const& range, Deadline deadline,
    std::function<void(MultiSlotSurvey)> handler)
{
    survey_from(std::make_shared<PartedSurvey>(slots, range, std::move(deadline), std::move(handler)), 0);
}

} // namespace tenure::redis
