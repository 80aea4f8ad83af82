// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims in a spread range.
#include "operations.hpp"

#include "multi_slot_probe.hpp"

#include "store/redis/claim/claim.hpp"
#include "store/redis/claim/range_cache.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// Keys of the first probe. Further probes are larger: a usual pool has a free key early.
constexpr std::uint32_t first_probe = 128;
// How long a node may take to answer a probe for free keys: one can be found elsewhere.
constexpr auto probe_within = 500ms;
// How long keys of other slots are preferred to keys of a slot that refused a claim.
constexpr auto avoided_for = 250ms;

/** The free keys that a claim has found, and has not tried yet. */
class FreeKeys
{
public:
    FreeKeys(SlotContexts& slots, KeyRange const& range)
        : slots_(slots)
        , range_(range)
    {
    }

    /** Adds the free keys of a probe. @returns the key that has the owner already; later keys are not added */
    [[nodiscard]] std::optional<std::uint32_t> add(MultiSlotPart const& part, Probes const& probes)
    {
        for (std::uint32_t i = 0; i < part.count; ++i) {
            if (probes.keys[i] == KeyProbe::own)
                return part.first + i;
            if (probes.keys[i] == KeyProbe::free)
                keys_.push_back(part.first + i);
        }
        return std::nullopt;
    }

    /** Takes the key to try next, if possible one whose slot has not refused recently. After a failover all keys of
     *  some nodes may be closed: skips slots that are known to be closed. */
    [[nodiscard]] std::optional<std::uint32_t> take()
    {
        while (!keys_.empty() && note_closed(keys_.front()))
            keys_.pop_front();
        if (keys_.empty())
            return std::nullopt;
        auto chosen = std::ranges::find_if(keys_, [this, now = slots_.runtime().now()](std::uint32_t index) {
            return slots_.of(range_, index).avoid_until <= now;
        });
        if (chosen == keys_.end())
            chosen = keys_.begin();
        auto const index = *chosen;
        keys_.erase(chosen);
        return index;
    }

    /** Notes when the key's slot opens. False if it is open, as far as this store knows. */
    bool note_closed(std::uint32_t index)
    {
        auto const until = slots_.of(range_, index).fails_fast->closed_until();
        if (until <= slots_.runtime().now())
            return false;
        opens_ = std::min(opens_, until);
        return true;
    }

    /** When the first closed slot opens after a failover; max: none is closed. */
    [[nodiscard]] Instant opens() const noexcept { return opens_; }

private:
    SlotContexts& slots_;
    KeyRange const& range_;
    /// in the order of the range
    std::deque<std::uint32_t> keys_;
    /// see `opens`
    Instant opens_ = Instant::max();
};

/** Claims one key of the range.
 *  @param own  it has the owner: the claim is extended at its node, and follows a migrating slot */
store::Step<ClaimReply> claim_key(SlotContext const& slot, ClaimRequest request, std::uint32_t index, bool own)
{
    request.range = single_key(request.range, index);
    // the line is in another slot
    request.waits = Waits::no;
    if (!own)
        // a new claim: the search has not found the owner
        request.earliest_attempt = std::nullopt;
    return store::Step<ClaimReply>([server = slot.follows, claims = slot.multi_slot_claims,
                                    request = std::move(request), own](ReplyHandler<ClaimReply> handler) mutable {
        if (own)
            claim(server, {std::move(request), std::move(handler), {}, resp::Urgency::step});
        else
            claims->add(std::move(request), std::move(handler));
    });
}

/** The reply to the claim of one key as the reply to the claim of the range. */
ClaimReply reply_of(SlotContexts& slots, KeyRange const& range, std::uint32_t index, ClaimReply reply)
{
    if (auto* const granted = std::get_if<Granted>(&reply))
        granted->index = index;
    else
        slots.of(range, index).avoid_until = slots.runtime().now() + avoided_for;
    if (auto* const unconfirmed = std::get_if<Unconfirmed>(&reply))
        unconfirmed->grant.index = index;
    return reply;
}

/** Makes the reply if no key could be claimed.
 *  @param opens  see `FreeKeys` */
store::Request<ClaimReply> find_busy(std::shared_ptr<SlotContexts> slots, ClaimRequest request, Instant opens)
{
    auto const now = slots->runtime().now();
    if (opens != Instant::max()) {
        // a survey would count free keys of closed slots as free at once
        auto const opens_in = std::chrono::ceil<std::chrono::milliseconds>(opens - now);
        co_return Busy{std::max(opens_in, std::chrono::milliseconds(1)), false};
    }
    std::optional<Survey> seen;
    if (survey_is_due(slots->multi_slot_ranges(), request, now)) {
        auto look = store::as_step(survey(slots, request.range, request.not_after.no_later_than(now + probe_within)));
        seen = co_await look;
    }
    co_return busy_reply(slots->multi_slot_ranges(), request.range, slots->runtime().now(), seen);
}

} // namespace

store::Request<ClaimReply> multi_slot_claim(std::shared_ptr<SlotContexts> slots, ClaimRequest request)
{
    // begins when few other claims search for a free key
    store::Step<std::variant<store::ClaimWindow::Place, Failure>> turn(
        [&](store::ClaimWindow::Turn take) { slots->searches().begin(request.not_after, std::move(take)); });
    auto place = co_await turn;
    bool const searching = request.earliest_attempt.has_value();
    auto const within = searching ? search_within : probe_within;
    FreeKeys free(*slots, *request.range);
    // why a key could not be read
    std::optional<Failure> unreadable;
    for (std::uint32_t next = 0; next < request.range->count;) {
        auto const part = part_of(request.range, next, searching || next > 0 ? largest_probe : first_probe);
        auto const urgency = next == 0 ? resp::Urgency::first : resp::Urgency::step;
        auto const deadline = request.not_after.no_later_than(slots->runtime().now() + within);
        auto look = store::as_step(probe(slots, part, {request.owner, deadline, searching, urgency}));
        auto probes = co_await look;
        next = part.end();
        if (!unreadable)
            unreadable = std::move(probes.why);
        auto const own = free.add(part, probes);
        if (!own && searching && unreadable)
            // the owner may already hold the unreadable key
            co_return std::move(*unreadable);
        if (!own && searching && next < request.range->count)
            continue;
        for (auto index = own ? own : free.take(); index; index = free.take()) {
            auto attempt = claim_key(slots->of(*request.range, *index), request, *index, index == own);
            // from now on the node of the key sets the pace
            place = {};
            auto reply = co_await attempt;
            if (!std::holds_alternative<Busy>(reply))
                co_return reply_of(*slots, *request.range, *index, std::move(reply));
            // another claim was faster, or claims are closed there
            free.note_closed(*index);
        }
    }
    if (unreadable)
        co_return std::move(*unreadable);
    auto busy = store::as_step(find_busy(slots, request, free.opens()));
    auto reply = co_await busy;
    co_return std::move(reply);
}

} // namespace tenure::redis
