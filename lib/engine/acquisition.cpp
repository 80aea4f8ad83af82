// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Acquisition: its claims, their answers, and its end.
#include "acquisition.hpp"

#include "core.hpp"
#include "lease_target.hpp"
#include "owner_text.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::engine
{

namespace
{

/// limit of a single try; after it the claim counts as unanswered
constexpr milliseconds longest_try{2000};
constexpr Clock::duration shortest_patience = milliseconds{100};
constexpr Clock::duration longest_patience = milliseconds{1000};

KeyRangePtr one_of(KeyRange const& range, std::uint32_t index)
{
    return std::make_shared<KeyRange const>(KeyRange{range.prefix, range.first + index, 1, range.numbered});
}

/** Converts the answer to a claim of one key to the answer of the range, in which the key has this index. */
void set_index(ClaimReply& reply, std::uint32_t index)
{
    if (auto* const grant = std::get_if<Granted>(&reply))
        grant->index = index;
    else if (auto* const unconfirmed = std::get_if<Unconfirmed>(&reply))
        unconfirmed->grant.index = index;
}

} // namespace

Acquisition::Acquisition(
    std::shared_ptr<LeaseTarget> target, LeaseTerms const& terms, milliseconds wait, bool is_try,
    std::optional<std::uint32_t> prefers, std::optional<Share> const& share, std::shared_ptr<void> event_context,
    Handler handler)
    : target_(std::move(target))
    , core_(target_->handle()->core())
    , runtime_(*core_->runtime())
    , store_log_(core_->store_log())
    , events_(core_->events())
    , event_context_(std::move(event_context))
    , range_(target_->range())
    , terms_(terms)
    , name_(target_->name())
    , wait_(wait)
    , is_try_(is_try)
    , prefers_(prefers)
    , handler_(std::move(handler))
    , timer_(runtime_)
    , turn_(*this, core_->queues(), range_, terms_.notifications)
    , place_(
          share ? std::make_unique<PlaceTurn>(*this, core_->places(), range_, *share, terms_.notifications) : nullptr)
{
}

NameCounters& Acquisition::name_counters() const noexcept
{
    return core_->counters().names.at(name_);
}

void Acquisition::start(std::shared_ptr<Acquisition> self, asio::cancellation_slot slot)
{
    detail::on_cancel(slot, detail::every_cancellation, [weak = std::weak_ptr(self)](asio::cancellation_type) {
        if (auto alive = weak.lock())
            alive->runtime_.post([alive] { alive->end_with(asio::error::operation_aborted); });
    });
    auto const& strand = self->runtime_.strand();
    strand.execute([self = std::move(self)] { self->begin(); });
}

void Acquisition::begin()
{
    if (!handler_)
        return;
    started_ = runtime_.now();
    if (core_->refuses_claims()) {
        finish(make_error_code(errc::closed));
        return;
    }
    bool const single = wait_ == milliseconds{0};
    AcquireMachine::Limits limits;
    limits.only_try = single;
    limits.deadline = later(started_, single ? std::min(terms_.ttl, longest_try) : wait_);
    limits.patience = std::clamp<Clock::duration>(Clock::duration(terms_.ttl) / 3, shortest_patience, longest_patience);
    limits.hints = terms_.notifications;
    limits.silent_releases = core_->backend().capabilities().frees_silently;
    limits.longest_pause = terms_.max_poll_interval;
    machine_.emplace(limits);
    write_by_ = machine_->write_by(started_);
    core_->add(shared_from_this());
    // a single try bypasses the wait queue
    auto const first = single ? at_once : place_ ? place_->begin() : turn_.begin(started_);
    carry_out(machine_->claim_at(first, started_), started_);
}

void Acquisition::claim_at(Instant when)
{
    // its turn may end it, and then the core drops it
    auto const self = shared_from_this();
    auto const now = runtime_.now();
    carry_out(machine_->claim_at(when, now), now);
}

void Acquisition::carry_out(AcquireMachine::Step const& step, Instant now)
{
    if (step.finish) {
        finish(*step.finish);
        return;
    }
    if (!handler_)
        return;
    wake_at(step.wake_at);
    if (step.ask)
        ask(now);
}

void Acquisition::wake_at(Instant when)
{
    // an early wake-up costs less than a new timer for every answer
    if (timer_.suffices(when))
        return;
    timer_.at(when, weak_from_this(), [](Acquisition& self) {
        if (!self.handler_)
            return;
        self.note_progress();
        auto const now = self.runtime_.now();
        self.carry_out(self.machine_->tick(now), now);
    });
}

void Acquisition::note_progress()
{
    if (claim_ && claim_->mark.progressed != Instant{})
        machine_->progressed(claim_->mark.progressed);
}

std::string Acquisition::make_owner()
{
    OwnerDigits random;
    runtime_.random_bytes(random);
    return tenure::make_owner(target_->owner_prefix(), runtime_.wall_clock(), random);
}

void Acquisition::ask(Instant now)
{
    if (!claim_) {
        claim_ = std::make_shared<Claim>();
        claim_->range = range_;
        claim_->owner = make_owner();
        claim_->reuse_after = terms_.reuse_after;
    }
    // in the wait queue all keys are known to be held, so it takes the first free one
    auto const only = turn_.waits() ? std::nullopt : prefers_;
    ClaimRequest request;
    request.range = only ? one_of(*range_, *only) : range_;
    request.owner = claim_->owner;
    request.ttl = terms_.ttl;
    // of earlier claims of this owner, which no longer count
    claim_->mark.progressed = {};
    request.not_after = {write_by_, Deadline::Mark(claim_, &claim_->mark)};
    request.fencing = terms_.fencing;
    request.earliest_attempt = earliest_attempt_;
    request.reuse_after = terms_.reuse_after;
    request.waits = only ? Waits::no : turn_.place();
    request.with_others = core_->claims_together();
    // the outcome of this attempt is unknown until its answer
    if (!earliest_attempt_)
        earliest_attempt_ = now;
    core_->claim_begins();
    Asked asked{claim_, now, request.waits, only};
    if (place_)
        place_->complete(request);
    core_->backend().claim(
        std::move(request), [self = shared_from_this(), asked = std::move(asked)](ClaimReply&& reply) {
            if (asked.only)
                set_index(reply, *asked.only);
            self->answered(asked, reply);
            // the work that the answer has left is already under way
            self->core_->claim_ends();
        });
}

void Acquisition::answered(Asked const& asked, ClaimReply const& reply)
{
    auto const& claim = asked.claim;
    auto const now = runtime_.now();
    core_->counters().requests.ended(RequestKind::claim, reply, now - asked.when);
    if (!std::holds_alternative<Failure>(reply))
        store_log_.answered();
    if (!handler_ || claim != claim_) {
        answered_too_late(asked, reply);
        return;
    }
    // set before the acquisition can end: its end must know whether to withdraw a claim
    unknown_ = unknown_ || failed_as(reply, Failure::Effect::unknown);
    if (core_->backend().capabilities().single_use_owners && !std::holds_alternative<Granted>(reply)) {
        if (unknown_)
            core_->withdraw(range_, claim_->owner, lifetime(), terms_.notifications);
        spend_owner();
        machine_->owner_spent();
    }
    if (asked.place != Waits::no)
        turn_.answered(asked.place, reply);
    if (auto const* grant = std::get_if<Granted>(&reply)) {
        core_->queues().claim_took(now - asked.when);
        granted(*grant, machine_->asking_more(), now);
    } else if (auto const* const unconfirmed = std::get_if<Unconfirmed>(&reply)) {
        record_error(unconfirmed->error, unconfirmed->detail);
        of_no_use(*claim, unconfirmed->grant, unconfirmed->error, unconfirmed->fatal, now);
    } else if (auto const* held = std::get_if<Busy>(&reply)) {
        core_->queues().claim_took(now - asked.when);
        if (asked.only)
            preferred_held(now);
        else
            busy(*held, now - asked.when, now);
    } else if (auto const* const failure = std::get_if<Failure>(&reply)) {
        // a claim that was too late to be sent changes nothing
        auto const error = failure->was_dropped() ? machine_->reason() : failure->error;
        if (failure->was_dropped() && !failure->detail.empty() && machine_->silence())
            record_error(error, range_->describe() + ": not sent within " + waited_text(now) + ": " + failure->detail);
        else
            note_failure(*failure);
        carry_out(machine_->failed(error, failure->fatal, now, runtime_.random()), now);
    }
    // no claim is pending and every outcome is known, so the next attempt is a first one again
    bool const known = std::holds_alternative<Busy>(reply) || failed_as(reply, Failure::Effect::not_sent);
    bool const in_place = place_ && place_->machine.has_place();
    if (handler_ && known && !unknown_ && !machine_->asking() && !in_place)
        earliest_attempt_.reset();
}

void Acquisition::answered_too_late(Asked const& asked, ClaimReply const& reply)
{
    auto const& claim = *asked.claim;
    if (asked.place != Waits::no && (std::holds_alternative<Busy>(reply) || failed_as(reply, Failure::Effect::unknown)))
        core_->queues().gave_up(range_);
    auto const lease = lease_.lock();
    bool const was_held = granted_index_ && &claim == claim_.get();
    // a late answer must not free a key that is to be kept
    bool const held = was_held && lease && (!lease->released() || lease->detaching());
    auto const* grant = std::get_if<Granted>(&reply);
    if (auto const* const unconfirmed = std::get_if<Unconfirmed>(&reply))
        grant = &unconfirmed->grant;
    if (auto const* const late = std::get_if<Busy>(&reply); late && PlaceMachine::withdraws_late(*late, held)) {
        core_->withdraw(range_, claim.owner, lifetime(), terms_.notifications);
    } else if (grant != nullptr) {
        // it claimed the lease's key again after the release, or a second key
        if (!held || granted_index_ != grant->index)
            give_back(claim, *grant);
    } else if (failed_as(reply, Failure::Effect::unknown) && !held) {
        // the release of the lease may be pending, so the withdrawn key may have been held
        core_->withdraw(
            range_, claim.owner, lifetime(), terms_.notifications, was_held ? terms_.reuse_after : milliseconds{0});
    } else if (failed_as(reply, Failure::Effect::unknown)) {
        // a withdrawal now would also remove the lease
        lease->second_key = true;
    }
}

void Acquisition::granted(Granted const& grant, bool claims_pending, Instant now)
{
    if (!usable(terms_, grant.since, grant.ttl, now)) {
        record_error(
            make_error_code(errc::ttl_too_short),
            "the answer for " + range_->describe() + " came " +
                std::to_string(std::chrono::round<milliseconds>(now - grant.since).count()) +
                " ms after the request, and the ttl is " + std::to_string(grant.ttl.count()) +
                " ms: nothing of it was left; the key was given back. Use a longer ttl or a nearer store");
        of_no_use(*claim_, grant, make_error_code(errc::ttl_too_short), false, now);
        return;
    }
    granted_index_ = grant.index;
    claim_->index = grant.index;
    claim_->fencing_token = grant.fencing_token;
    claim_->handle = grant.handle;
    auto record = std::make_shared<LeaseRecord>(target_->handle(), core_->runtime(), claim_, terms_, grant, now);
    lease_ = record;
    record->second_key = unknown_;
    record->name = name_;
    record->event_context = event_context_;
    if (claims_pending || unknown_)
        record->machine.expect_claim(terms_.ttl);
    core_->counters().acquired_after(now - started_, name_counters());
    if (auto const freed = turn_.freed_at())
        name_counters().hand_over.add(now - *freed);
    if (place_)
        note_number(grant.fencing_token);
    if (place_ ? place_->waits() : turn_.waits())
        report_end({}, now);
    events_.acquired(*record, now - started_, now);
    core_->keeper().add(record, now);
    // another claim of this acquisition may have found the key held after this one took it
    end(turn_.may_stay_in_line(machine_->claims_overlapped()));
    call_handler({}, std::move(record));
}

void Acquisition::of_no_use(Claim const& claim, Granted const& grant, error_code error, bool fatal, Instant now)
{
    give_back(claim, grant);
    // another claim without an answer may have taken another key
    if (unknown_ && range_->count > 1)
        core_->withdraw(range_, claim.owner, lifetime(), terms_.notifications);
    // the owner is spent: the pending release must not hit a later grant
    spend_owner();
    carry_out(machine_->given_back(error, fatal, now, runtime_.random()), now);
}

void Acquisition::spend_owner()
{
    // the answer that spends the owner counts as pending until the machine has it
    drop_claims(machine_->asking_more());
    if (place_)
        place_->machine.forget();
    claim_.reset();
    earliest_attempt_.reset();
    unknown_ = false;
}

void Acquisition::busy(Busy const& reply, Clock::duration took, Instant now)
{
    machine_->expect_hints(place_ ? place_->hinted() : turn_.hinted());
    auto const ask_by = place_ ? placed(reply) : Instant::max();
    auto const step = machine_->busy(reply, took, now, runtime_.random(), ask_by);
    if (step.finish) {
        if (reply.never_frees)
            record_error(
                *step.finish, range_->describe() +
                                  ": held without expiry by another program, so it never becomes free: use "
                                  "another prefix or key, or delete it by hand");
        finish(*step.finish);
        return;
    }
    if (place_)
        place_->found_held();
    auto const when = place_ ? std::nullopt : turn_.found_held(now - took);
    carry_out(when && !step.ask ? machine_->claim_at(*when, now) : step, now);
}

void Acquisition::preferred_held(Instant now)
{
    // the outcome is known, so the claim of the whole range is a first attempt
    if (!unknown_ && !machine_->asking_more())
        earliest_attempt_.reset();
    bool const is_first = std::exchange(prefers_, std::nullopt).has_value();
    carry_out(machine_->preferred_held(is_first, now, runtime_.random()), now);
}

void Acquisition::end_with(error_code error)
{
    if (handler_)
        finish(error);
}

void Acquisition::finish(error_code error)
{
    auto const self = shared_from_this();
    auto& counters = core_->counters();
    if (error == asio::error::operation_aborted) {
        add_one(counters.cancelled);
        add_one(name_counters().cancelled);
    } else if (error == errc::timed_out) {
        add_one(counters.busy);
        add_one(name_counters().busy);
    } else {
        add_one(counters.failed);
        add_one(name_counters().failed);
    }
    if (events_.wanted())
        report_end(error, runtime_.now());
    bool const asked = machine_.has_value();
    if (asked && error == errc::store_unavailable && machine_->silence())
        note_failure(Failure::unknown(error, silence_text(runtime_.now())));
    bool const leaves_place = asked && place_ && place_->machine.withdraws(pass_on_place());
    if (asked && (unknown_ || leaves_place))
        core_->withdraw(range_, claim_->owner, lifetime(), terms_.notifications);
    if (asked) {
        drop_claims(machine_->asking());
        end(turn_.may_stand_in_line());
    }
    call_handler(error, nullptr);
}

void Acquisition::report_end(error_code error, Instant now) const
{
    AcquisitionEnd const end{*range_, target_->owner_prefix(),  now - started_,
                             error,   wait_ == milliseconds{0}, event_context_};
    events_.waited(end, now);
}

std::string Acquisition::silence_text(Instant now) const
{
    bool const written = claim_ && claim_->mark.progressed != Instant{};
    return range_->describe() + (written ? ": no answer within " : ": not sent within ") + waited_text(now);
}

std::string Acquisition::waited_text(Instant now) const
{
    return std::to_string(std::chrono::round<milliseconds>(now - started_).count()) + " ms";
}

void Acquisition::end(bool leaves_line)
{
    auto const self = shared_from_this();
    machine_->end();
    timer_.cancel();
    // before the core, which may close the store
    turn_.end(leaves_line);
    if (place_)
        place_->end();
    core_->remove(*this);
    // late answers need only the core: an ended acquisition keeps no store open
    target_.reset();
}

void Acquisition::drop_claims(bool any_unanswered)
{
    if (!claim_)
        return;
    claim_->mark.ended.store(true, std::memory_order_release);
    if (any_unanswered)
        core_->drop_abandoned();
}

void Acquisition::record_error(error_code error, std::string detail)
{
    failed_with_ = error;
    failed_why_ = error_details(store_log_.of_store(detail));
    store_log_.record_error(error, std::move(detail));
}

void Acquisition::note_failure(Failure const& failure)
{
    if (!failure.was_dropped()) {
        failed_with_ = failure.error;
        failed_why_ = error_details(store_log_.of_store(failure.detail));
    }
    store_log_.failed(failure, StoreLog::Asked::by_caller);
}

void Acquisition::call_handler(error_code error, LeaseRecordPtr record)
{
    if (is_try_ && error == errc::timed_out)
        error = {};
    FailsWith const failing(error && error == failed_with_ ? std::move(failed_why_) : nullptr);
    handler_(Known::later, error, Lease(std::move(record)));
}

void Acquisition::give_back(Claim const& claim, Granted const& grant)
{
    // a separate claim, because the owner's claim may belong to a lease on another key
    auto unwanted = std::make_shared<Claim>();
    unwanted->range = range_;
    unwanted->index = grant.index;
    unwanted->owner = claim.owner;
    unwanted->handle = grant.handle;
    // no quarantine, except for the key that was held and whose release may be pending
    if (&claim == claim_.get() && granted_index_ == grant.index)
        unwanted->reuse_after = terms_.reuse_after;
    core_->give_back(std::move(unwanted), grant.ttl + terms_.reuse_after, terms_.notifications);
}

void Acquisition::abandon()
{
    timer_.cancel();
    if (machine_)
        machine_->end();
    turn_.abandon();
    if (place_)
        place_->abandon();
    handler_ = nullptr;
}

} // namespace tenure::engine
