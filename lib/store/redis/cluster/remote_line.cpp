// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lines of waiters in another hash slot than their keys.
#include "remote_line.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/operations.hpp"
#include "store/redis/publish.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/wire/error_meaning.hpp"

#include <store/gather.hpp>

#include <tenure/errc.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

/** Keys that were freed in one turn, by the stem of their range. */
struct FreedKeys {
    struct OfRange {
        KeyRangePtr range;
        std::uint32_t keys = 0;
        /// the node of a freed key publishes within shards; used while the channel's node is not connected
        bool in_shard = false;
        std::vector<ReplyHandler<bool>> handlers;
    };
    std::map<std::string, OfRange> by_stem;
};

namespace
{

using namespace std::chrono_literals;

// A hanging node may cost the range its order, but not the claim.
constexpr auto line_up_within = 500ms;
// A waiter soon finds the key by its own timer, so a release is not delayed longer.
constexpr auto worth_telling = 1s;

/** Runs a script on the line for a caller that must not wait for a hanging node. Without an answer within `within` the
 *  outcome is unknown, and a later answer is dropped. */
store::Request<Outcome> run_on_line(
    ServerPtr node, Script const* script, resp::EncodedArguments names, resp::EncodedArguments values,
    Clock::duration within, Deadline not_after)
{
    Outcome outcome;
    outcome.delivery = Delivery::unknown;
    outcome.error = errc::store_unavailable;
    auto const limit = node->runtime().now() + within;
    ScriptCall call;
    call.script = script;
    call.names = std::move(names);
    call.values = std::move(values);
    call.urgency = resp::Urgency::step;
    call.not_after = not_after.no_later_than(limit);
    auto run = store::gather(node->runtime(), limit, [&](auto const& reply_to) {
        run_script(node->channel(), std::move(call), reply_to([&](Outcome&& reply) { outcome = std::move(reply); }));
    });
    co_await run;
    co_return std::move(outcome);
}

ServerPtr const& node_of_line(SlotContexts& slots, KeyRange const& range)
{
    return slots.at(hash_slot(line_of(range))).follows;
}

/** Joins the line. False if this store was already in it: then no release since this claim began has missed it. */
store::Request<bool> line_up(ServerPtr node, KeyRangePtr range, Waits waits, Deadline not_after)
{
    resp::EncodedArguments names;
    names.add(line_of(*range));
    resp::EncodedArguments values;
    values.add(node->waiter()).add(waits == Waits::in_front ? "1" : "");
    auto run = store::as_step(
        run_on_line(node, &scripts::line_up(), std::move(names), std::move(values), line_up_within, not_after));
    auto const outcome = co_await run;
    auto const said = outcome.delivery == Delivery::answered ? outcome.reply.as_string() : std::string_view();
    if (said.starts_with('?'))
        note_line_refusal(*node, *range, said.substr(1));
    else if (outcome.reply.is_error())
        note_line_refusal(*node, *range, said);
    co_return said == "joined";
}

/** Takes names from the line for freed keys, and publishes them. True if the name of another store left the line.
 *  @param in_shard  see `FreedKeys` */
store::Request<bool> notify(std::shared_ptr<SlotContexts> slots, KeyRangePtr range, std::uint32_t freed, bool in_shard)
{
    auto const node = node_of_line(*slots, *range);
    if (slots->cluster().closed() || !node->may_publish())
        co_return false;
    // facts about a node are unknown before its connection
    if (node->channel()->generation() != 0)
        in_shard = node->announces_in_shard();
    if (!node->may_line_up()) {
        publish(node, *range, message_for_all);
        co_return false;
    }
    bool const by_script = node->publishes_in_scripts();
    resp::EncodedArguments names;
    names.add(line_of(*range)).add(watched_key_of(*range));
    resp::EncodedArguments values;
    values.add(freed).add(how_to_publish(*node));
    auto const& script = scripts::notify_freed().for_channels(in_shard);
    auto run =
        store::as_step(run_on_line(node, &script, std::move(names), std::move(values), worth_telling, Instant::max()));
    auto const outcome = co_await run;
    if (outcome.delivery != Delivery::answered)
        co_return false;
    // other errors have no flags either, such as a slot without a node or a loading server
    if (outcome.reply.is_error() && may_concern_some_keys(outcome.reply.as_string())) {
        note_line_refusal(*node, *range, outcome.reply.as_string());
        publish(node, *range, message_for_all);
        co_return false;
    }
    auto const flags = read_release_flags(outcome.reply, 1, 1);
    if (!flags)
        co_return false;
    follow_up(node, *range, flags->notes, 0, by_script);
    co_return names_another(flags->notes.message(0), node->waiter());
}

void notify_all(std::shared_ptr<SlotContexts> const& slots, FreedKeys all)
{
    slots->freed_keys().reset();
    for (auto& [stem, freed] : all.by_stem)
        notify(slots, freed.range, freed.keys, freed.in_shard)
            .start([handlers = std::move(freed.handlers)](bool named_another) mutable {
                for (auto& handler : handlers)
                    handler(bool(named_another));
            });
}

} // namespace

store::Request<ClaimReply>
claim_in_line(std::shared_ptr<SlotContexts> slots, ClaimAttempt attempt, ClaimRequest request)
{
    auto const range = request.range;
    auto const waits = std::exchange(request.waits, Waits::no);
    auto const claim_once = [&](ReplyHandler<ClaimReply> handler) { attempt(request, std::move(handler)); };
    store::Step<ClaimReply> first(claim_once);
    auto reply = co_await first;
    auto const node = node_of_line(*slots, *range);
    if (std::holds_alternative<Busy>(reply) && node->may_line_up()) {
        auto join = store::as_step(line_up(node, range, waits, request.not_after));
        bool const joined = co_await join;
        store::Step<ClaimReply> second(claim_once);
        if (joined)
            reply = co_await second;
    }
    if (std::holds_alternative<Granted>(reply))
        leave_line(node_of_line(*slots, *range), range);
    co_return std::move(reply);
}

bool has_remote_line(KeyRange const& range, std::uint32_t index)
{
    return hash_slot(line_of(range)) != hash_slot(range.key(index));
}

store::Step<bool>
announce(std::shared_ptr<SlotContexts> slots, KeyRangePtr range, std::uint32_t index, std::uint32_t freed)
{
    return store::Step<bool>(
        [slots = std::move(slots), range = std::move(range), index, freed](ReplyHandler<bool> handler) mutable {
            auto pending = slots->freed_keys().lock();
            if (!pending) {
                pending = std::make_shared<FreedKeys>();
                slots->freed_keys() = pending;
                slots->runtime().post([slots, pending] { notify_all(slots, std::move(*pending)); });
            }
            auto& entry = pending->by_stem[stem_of(*range)];
            entry.in_shard = slots->of(*range, index).follows->announces_in_shard();
            entry.range = std::move(range);
            entry.keys += freed;
            entry.handlers.push_back(std::move(handler));
        });
}

} // namespace tenure::redis
