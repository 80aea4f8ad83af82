// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Probes and surveys of keys in many hash slots.
#include "multi_slot_probe.hpp"

#include "store/redis/replies.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/steps.hpp"

#include <store/gather.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

KeyProbe read_probe(resp::Value const& reply)
{
    switch (reply.is_integer() ? reply.as_integer() : -1) {
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

Failure reason(ServerContext& node, Outcome const& outcome, std::string const& key)
{
    if (outcome.delivery == Delivery::answered) {
        auto failure = failure_of(node, outcome, key);
        // the claim itself was not sent
        failure.effect = Failure::Effect::not_sent;
        return failure;
    }
    auto const error = outcome.error ? outcome.error : make_error_code(errc::store_unavailable);
    return Failure::not_sent(error, node.where() + ": " + key + ": " + outcome.detail, outcome.fatal);
}

/** Adds one key to a survey. False if it was not read. */
bool add(Survey& seen, Outcome const& outcome)
{
    auto const reply = outcome.delivery == Delivery::answered ? read_page_reply(outcome.reply, 1, false) : std::nullopt;
    auto const* const held = reply ? std::get_if<PageHeld>(&*reply) : nullptr;
    if (held == nullptr)
        return false;
    add(seen, *held);
    return true;
}

} // namespace

store::Request<Probes> probe(std::shared_ptr<SlotContexts> slots, MultiSlotPart part, ProbeRequest request)
{
    Probes probes;
    probes.keys.assign(part.count, KeyProbe::unreadable);
    auto look = store::gather(slots->runtime(), request.deadline.at(), [&](auto const& reply_to) {
        for (std::uint32_t i = 0; i < part.count; ++i) {
            auto const key = part.range->key(part.first + i);
            auto const& slot = slots->at(hash_slot(key));
            if (!request.searching && slot.channel->is_lost())
                continue;
            auto answered = reply_to([&probes, i, key, at = slot.follows](Outcome const& outcome) {
                if (outcome.delivery == Delivery::answered)
                    probes.keys[i] = read_probe(outcome.reply);
                if (probes.keys[i] == KeyProbe::unreadable && !probes.why)
                    probes.why = reason(*at, outcome, key);
            });
            if (request.searching) {
                auto call = call_for_key(scripts::probe(), *part.range, part.first + i, request.deadline);
                call.values.add(request.owner);
                call.urgency = request.urgency;
                run_script(slot.channel, std::move(call), std::move(answered));
            } else {
                resp::Command exists("EXISTS", key);
                exists.set_urgency(request.urgency);
                slot.channel->execute(std::move(exists), request.deadline, std::move(answered));
            }
        }
    });
    co_await look;
    auto const missing = std::ranges::find(probes.keys, KeyProbe::unreadable);
    if (missing != probes.keys.end() && !probes.why) {
        auto const index = part.first + static_cast<std::uint32_t>(missing - probes.keys.begin());
        auto const& slot = slots->of(*part.range, index);
        probes.why = Failure::not_sent(
            errc::store_unavailable, slot.follows->where() + ": " + part.range->key(index) +
                                         ": not looked at in time: " + slot.channel->last_error());
    }
    co_return std::move(probes);
}

store::Request<Survey> survey(std::shared_ptr<SlotContexts> slots, KeyRangePtr range, Deadline deadline)
{
    Survey seen;
    std::uint32_t read = 0;
    std::uint32_t next = 0;
    do {
        auto const part = part_of(range, next, largest_probe);
        next = part.end();
        auto look = store::gather(slots->runtime(), deadline.at(), [&](auto const& reply_to) {
            for (auto index = part.first; index < part.end(); ++index) {
                auto const& channel = slots->of(*range, index).channel;
                if (!channel->is_lost())
                    run_script(
                        channel, call_for_key(scripts::survey(), *range, index, deadline),
                        reply_to([&](Outcome const& outcome) { read += add(seen, outcome) ? 1U : 0U; }));
            }
        });
        co_await look;
    } while (next < range->count && !deadline.over(slots->runtime().now()));
    if (read != range->count)
        seen.foreign = 0;
    co_return seen;
}

} // namespace tenure::redis
