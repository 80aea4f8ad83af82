// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims in a spread range.
#include "operations.hpp"

#include "multi_slot_probe.hpp"

#include "store/redis/claim.hpp"
#include "store/redis/range_cache.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// Keys of the first probe. Further probes are larger: a usual pool has a free key early.
constexpr std::uint32_t first_probe = 128;
// How long a node may take to answer a probe. A claim of the same owner is worth waiting for; a free key can be found
// elsewhere.
constexpr auto probe_within = 500ms;
constexpr auto search_within = 2000ms;
// How long keys of other slots are preferred to keys of a slot that refused a claim.
constexpr auto avoided_for = 250ms;

class MultiSlotClaim : public std::enable_shared_from_this<MultiSlotClaim>
{
public:
    MultiSlotClaim(std::shared_ptr<SlotContexts> slots, ClaimRequest request, ReplyHandler<ClaimReply> handler)
        : slots_(std::move(slots))
        , request_(std::move(request))
        , handler_(std::move(handler))
    {
    }

    /** Begins when few other claims search for a free key. */
    void start()
    {
        slots_->searches().begin(request_.not_after, [self = shared_from_this()](auto&& turn) {
            if (auto* const failure = std::get_if<Failure>(&turn)) {
                self->finish(std::move(*failure));
                return;
            }
            self->place_ = std::get<store::ClaimWindow::Place>(std::move(turn));
            self->probe_next();
        });
    }

private:
    void probe_next()
    {
        bool const searching = request_.earliest_attempt.has_value();
        auto const wanted = searching || next_ > 0 ? largest_probe : first_probe;
        auto const part = part_of(request_.range, next_, wanted);
        auto const deadline =
            request_.not_after.no_later_than(slots_->runtime().now() + (searching ? search_within : probe_within));
        auto const urgency = next_ == 0 && !has_claimed_ ? resp::Urgency::first : resp::Urgency::step;
        probe(
            slots_, part, {request_.owner, deadline, searching, urgency},
            [self = shared_from_this(), part](Probes probes) { self->probed(part, std::move(probes)); });
    }

    void probed(MultiSlotPart const& part, Probes probes)
    {
        next_ = part.end();
        if (!unreadable_)
            unreadable_ = std::move(probes.why);
        for (std::uint32_t i = 0; i < part.count; ++i) {
            if (probes.keys[i] == KeyProbe::own) {
                claim_key(part.first + i, true);
                return;
            }
            if (probes.keys[i] == KeyProbe::free)
                free_.push_back(part.first + i);
        }
        bool const searching = request_.earliest_attempt.has_value();
        if (searching && unreadable_)
            // the owner may already hold the unreadable key
            finish(std::move(*unreadable_));
        else if (searching && next_ < request_.range->count)
            probe_next();
        else
            take_next();
    }

    void take_next()
    {
        skip_closed();
        if (tried_ < free_.size()) {
            prefer_others();
            claim_key(free_[tried_++], false);
        } else if (next_ < request_.range->count) {
            probe_next();
        } else if (unreadable_) {
            finish(std::move(*unreadable_));
        } else {
            answer_busy();
        }
    }

    /// After a failover all keys of some nodes may be closed: skips slots that are known to be closed.
    void skip_closed()
    {
        auto const now = slots_->runtime().now();
        while (tried_ < free_.size() && note_closed(free_[tried_], now))
            ++tried_;
    }

    /// @returns false if the key's slot is open, as far as this store knows
    bool note_closed(std::uint32_t index, Instant now)
    {
        auto const until = slots_->of(*request_.range, index).fails_fast->closed_until();
        if (until <= now)
            return false;
        opens_ = std::min(opens_, until);
        return true;
    }

    /// Moves the first key whose slot has not refused recently to the front.
    void prefer_others()
    {
        auto const now = slots_->runtime().now();
        auto const begin = free_.begin() + static_cast<std::ptrdiff_t>(tried_);
        auto const found = std::find_if(begin, free_.end(), [&](std::uint32_t index) {
            return slots_->of(*request_.range, index).avoid_until <= now;
        });
        if (found != free_.end())
            std::rotate(begin, found, found + 1);
    }

    void claim_key(std::uint32_t index, bool own)
    {
        // from now on the node of the key sets the pace
        has_claimed_ = true;
        place_ = {};
        ClaimRequest request = request_;
        request.range = single_key(*request_.range, index);
        // the line is in another slot
        request.waits = Waits::no;
        auto const& slot = slots_->of(*request_.range, index);
        auto then = [self = shared_from_this(), index](ClaimReply reply) { self->claimed(index, std::move(reply)); };
        if (own) {
            // the claim is extended at its node, and follows a migrating slot
            claim(slot.follows, {std::move(request), std::move(then), {}, resp::Urgency::step});
            return;
        }
        // a new claim: the search has not found the owner
        request.earliest_attempt = std::nullopt;
        slot.multi_slot_claims->add(std::move(request), std::move(then));
    }

    void claimed(std::uint32_t index, ClaimReply reply)
    {
        if (std::holds_alternative<Busy>(reply)) {
            // another claim was faster, or claims are closed there
            (void)note_closed(index, slots_->runtime().now());
            take_next();
            return;
        }
        if (auto* const granted = std::get_if<Granted>(&reply))
            granted->index = index;
        else if (auto* const unconfirmed = std::get_if<Unconfirmed>(&reply))
            unconfirmed->grant.index = index;
        if (!std::holds_alternative<Granted>(reply))
            slots_->of(*request_.range, index).avoid_until = slots_->runtime().now() + avoided_for;
        finish(std::move(reply));
    }

    void answer_busy()
    {
        auto& ranges = slots_->multi_slot_ranges();
        auto const now = slots_->runtime().now();
        if (opens_ != Instant::max()) {
            // a survey would count free keys of closed slots as free at once
            auto const opens_in = std::chrono::ceil<std::chrono::milliseconds>(opens_ - now);
            finish(Busy{std::max(opens_in, std::chrono::milliseconds(1)), false});
            return;
        }
        if (!survey_is_due(ranges, request_, now)) {
            finish(busy_reply(ranges, request_.range, now, std::nullopt));
            return;
        }
        auto const deadline = request_.not_after.no_later_than(now + probe_within);
        survey(slots_, request_.range, deadline, [self = shared_from_this()](MultiSlotSurvey const& survey) {
            bool const complete = survey.seen == self->request_.range->count;
            Survey const seen{survey.earliest_expiry, complete ? survey.foreign : 0};
            self->finish(busy_reply(
                self->slots_->multi_slot_ranges(), self->request_.range, self->slots_->runtime().now(), seen));
        });
    }

    void finish(ClaimReply reply) { std::move(handler_)(std::move(reply)); }

    std::shared_ptr<SlotContexts> slots_;
    ClaimRequest request_;
    ReplyHandler<ClaimReply> handler_;
    /// while it searches for a free key
    store::ClaimWindow::Place place_;
    /// a key was claimed, successfully or not
    bool has_claimed_ = false;
    /// the first key that was not probed yet
    std::uint32_t next_ = 0;
    /// keys that were free in a probe, in the order of the attempts
    std::vector<std::uint32_t> free_;
    std::size_t tried_ = 0;
    /// when the first closed slot opens after a failover; max: none is closed
    Instant opens_ = Instant::max();
    /// why a key could not be read
    std::optional<Failure> unreadable_;
};

} // namespace

void multi_slot_claim(
    std::shared_ptr<SlotContexts> const& slots, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    std::make_shared<MultiSlotClaim>(slots, std::move(request), std::move(handler))->start();
}

} // namespace tenure::redis
