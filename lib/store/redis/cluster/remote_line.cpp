// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lines of waiters in another hash slot than their keys.
#include "remote_line.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/operations.hpp"
#include "store/redis/replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <runtime/timer.hpp>

#include <tenure/errc.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// A hanging node may cost the range its order, but not the claim.
constexpr auto line_up_within = 500ms;
// A waiter soon finds the key by its own timer, so a release is not delayed longer.
constexpr auto worth_telling = 1s;

/** Runs a script on the line for a caller that must not wait for a hanging node. Without an answer within `within` the
 *  handler gets an unknown outcome, and a later answer is dropped. */
void run_on_line(
    ServerPtr const& node, Script const& script, std::string const& line, resp::EncodedArguments values,
    Clock::duration within, Deadline const& not_after, OutcomeHandler handler)
{
    struct Awaited {
        /// owns the runtime
        ServerPtr node;
        /// empty: already called
        OutcomeHandler handler;
        Timer limit{node->runtime()};
    };
    auto const awaited = std::make_shared<Awaited>(node, std::move(handler));
    awaited->limit.after(within, std::weak_ptr(awaited), [](Awaited& late) {
        Outcome outcome;
        outcome.delivery = Delivery::unknown;
        outcome.error = errc::store_unavailable;
        std::exchange(late.handler, nullptr)(std::move(outcome));
    });
    auto keys = std::make_shared<resp::EncodedArguments>();
    keys->add(1).add(line);
    ScriptCall call;
    call.script = &script;
    call.keys = std::move(keys);
    call.values = std::move(values);
    call.urgency = resp::Urgency::step;
    call.not_after = not_after.no_later_than(node->runtime().now() + within);
    run_script(node->channel(), std::move(call), [awaited](Outcome&& outcome) {
        awaited->limit.cancel();
        if (auto then = std::exchange(awaited->handler, nullptr))
            std::move(then)(std::move(outcome));
    });
}

ServerPtr const& node_of_line(SlotContexts& slots, KeyRange const& range)
{
    return slots.at(hash_slot(line_of(range))).follows;
}

/** Claims once; a grant leaves the line. */
void claim_once(
    std::shared_ptr<SlotContexts> const& slots, ClaimAttempt const& attempt, ClaimRequest request,
    ReplyHandler<ClaimReply> handler)
{
    request.waits = Waits::no;
    auto then = [slots, range = request.range, handler = std::move(handler)](ClaimReply&& reply) mutable {
        if (std::holds_alternative<Granted>(reply))
            leave_line(node_of_line(*slots, *range), range);
        std::move(handler)(std::move(reply));
    };
    attempt(std::move(request), std::move(then));
}

/** Joins the line. The handler gets false if this store was already in it: then no release since this claim began has
 *  missed it. */
void line_up(ServerPtr const& node, ClaimRequest const& request, OneShot<void(bool joined)> handler)
{
    resp::EncodedArguments values;
    values.add(node->waiter()).add(request.waits == Waits::in_front ? "1" : "");
    run_on_line(
        node, scripts::line_up(), line_of(*request.range), std::move(values), line_up_within, request.not_after,
        [node, range = request.range, handler = std::move(handler)](Outcome&& outcome) mutable {
            auto const said = outcome.delivery == Delivery::answered ? outcome.reply.as_string() : std::string_view();
            if (said.starts_with('?'))
                note_line_refusal(*node, *range, said.substr(1));
            else if (outcome.reply.is_error())
                note_line_refusal(*node, *range, said);
            std::move(handler)(said == "joined");
        });
}

void hand_over(std::vector<Announcer::Handler> handlers, bool named_another)
{
    for (auto& handler : handlers)
        std::move(handler)(named_another);
}

} // namespace

void claim_in_line(
    std::shared_ptr<SlotContexts> const& slots, ClaimAttempt attempt, ClaimRequest request,
    ReplyHandler<ClaimReply> handler)
{
    auto then = [slots, attempt, request, handler = std::move(handler)](ClaimReply&& reply) mutable {
        auto const node = node_of_line(*slots, *request.range);
        if (!std::holds_alternative<Busy>(reply) || !node->may_line_up()) {
            std::move(handler)(std::move(reply));
            return;
        }
        auto again = [slots, attempt = std::move(attempt), request, busy = std::move(reply),
                      handler = std::move(handler)](bool joined) mutable {
            if (joined)
                claim_once(slots, attempt, std::move(request), std::move(handler));
            else
                std::move(handler)(std::move(busy));
        };
        line_up(node, request, std::move(again));
    };
    claim_once(slots, attempt, std::move(request), std::move(then));
}

bool Announcer::is_needed(KeyRange const& range, std::uint32_t index)
{
    return hash_slot(line_of(range)) != hash_slot(range.key(index));
}

void Announcer::announce(KeyRangePtr range, std::uint32_t index, std::uint32_t freed, Handler handler)
{
    auto pending = pending_.lock();
    if (!pending) {
        pending = std::make_shared<FreedByStem>();
        pending_ = pending;
        slots_->runtime().post([self = shared_from_this(), pending] { self->flush(std::move(*pending)); });
    }
    auto& entry = (*pending)[stem_of(*range)];
    entry.in_shard = slots_->of(*range, index).follows->announces_in_shard();
    entry.range = std::move(range);
    entry.keys += freed;
    entry.handlers.push_back(std::move(handler));
}

void Announcer::flush(FreedByStem all)
{
    pending_.reset();
    for (auto& [stem, freed] : all)
        tell(stem, std::move(freed));
}

void Announcer::tell(std::string const& stem, Freed freed)
{
    auto const line = line_of(*freed.range);
    auto const node = slots_->at(hash_slot(line)).follows;
    if (slots_->cluster().closed() || !node->may_publish()) {
        hand_over(std::move(freed.handlers), false);
        return;
    }
    // facts about a node are unknown before its connection
    bool const in_shard = node->channel()->generation() != 0 ? node->announces_in_shard() : freed.in_shard;
    resp::EncodedArguments values;
    values.add(node->name_in_line()).add(stem).add(freed.keys);
    run_on_line(
        node, in_shard ? scripts::tell_freed_in_shard() : scripts::tell_freed(), line, std::move(values), worth_telling,
        Instant::max(), [node, freed = std::move(freed)](Outcome&& outcome) mutable {
            // an error reply has no flags, such as a slot without a node or a loading server
            auto const flags =
                outcome.delivery == Delivery::answered ? read_release_flags(outcome.reply, 1) : std::nullopt;
            if (flags)
                take_notes(*node, *freed.range, flags->notes);
            hand_over(std::move(freed.handlers), flags && flags->keys == "2");
        });
}

} // namespace tenure::redis
