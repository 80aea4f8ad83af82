// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keeper: renewals, their answers, and the loss of leases.
#include "keeper.hpp"

#include "completion.hpp"
#include "counters.hpp"
#include "events.hpp"
#include "lease_lines.hpp"
#include "store_log.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tenure::engine
{

namespace
{

/// for any ttl
constexpr Clock::duration longest_slack = milliseconds{100};
/// leases that are judged within this time of each other are renewed together from then on
constexpr Clock::duration burst = milliseconds{20};
/// pause after an exception of the store's code
constexpr Clock::duration pause_after_failure = milliseconds{10};
/// pause between two warnings about a blocked executor
constexpr Clock::duration warning_pause = std::chrono::minutes{1};
/// above this number unused ttls are removed
constexpr std::size_t many_ttls = 16;

Clock::duration slack_for(milliseconds ttl) noexcept
{
    return std::min(longest_slack, renewal_slack(ttl));
}

std::string milliseconds_text(Clock::duration duration)
{
    return std::to_string(std::chrono::round<milliseconds>(duration).count()) + " ms";
}

} // namespace

Keeper::Keeper(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Counters& counters, StoreLog& store_log,
    LeaseLines& lines, Events const& events)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
    , counters_(counters)
    , store_log_(store_log)
    , lines_(lines)
    , events_(events)
{
}

void Keeper::add(LeaseRecordPtr const& record, Instant now)
{
    add_one(counters_.held);
    add_one(counters_.names.at(record->name).held);
    record->kept = true;
    note_ttl(record->machine.ttl(), 1);
    auto const step = record->machine.tick(now, Clock::duration::zero());
    record->agenda_place = agenda_.add(record, step.wake_at);
    carry_out(record, step, now);
}

void Keeper::note_ttl(milliseconds ttl, int change)
{
    auto& count = ttls_[ttl];
    count = change > 0 ? count + 1 : count - 1;
    if (count > 1 || (change > 0 && ttl >= shortest_ttl_ && shortest_ttl_ != milliseconds{0}))
        return;
    if (ttls_.size() > many_ttls)
        std::erase_if(ttls_, [](auto const& entry) { return entry.second == 0; });
    auto const shortest = std::ranges::find_if(ttls_, [](auto const& entry) { return entry.second > 0; });
    // the last ttl is kept until another replaces it, or the timer finds no lease: leases come and go
    if (shortest == ttls_.end() || shortest->first == shortest_ttl_)
        return;
    shortest_ttl_ = shortest->first;
    backend_->shortest_ttl(shortest_ttl_);
}

void Keeper::forget(LeaseRecord& record, Instant now)
{
    if (!std::exchange(record.kept, false))
        return;
    auto& name = counters_.names.at(record.name);
    take_one(counters_.held);
    take_one(name.held);
    name.holding_time.add(now - record.granted_at());
    // keeps the record alive for the caller: the agenda may have owned it alone
    auto const alive = agenda_.take(record.agenda_place);
    if (closed_)
        return;
    note_ttl(record.machine.ttl(), -1);
    lines_.work_ended();
}

void Keeper::end_lease(LeaseRecord& record, CancelReason reason, Instant now)
{
    // its holder has cancelled the token of a released lease, and notified its waiters
    bool const released = reason == CancelReason::released;
    auto const error = make_error_code(released ? errc::released : errc::lease_lost);
    record.machine.end();
    record.claim().mark.ended.store(true, std::memory_order_release);
    if (!released)
        record.token().cancel(reason);
    // the holder may have observed the expiry (`cancelled()` cancels the token) before the timer ran
    report_loss(record);
    if (!released)
        record.notify_risk_waiters(error);
    finish_calls(record, 0, error, false);
    forget(record, now);
}

std::uint64_t Keeper::jitter(Instant now)
{
    if (now >= jitter_until_) {
        jitter_ = runtime_->random();
        jitter_until_ = now + burst;
    }
    return jitter_;
}

void Keeper::wake_by(Instant when)
{
    if (timer_.suffices(when) || closed_)
        return;
    // an instant in the past does not prove a blocked executor
    auto const due = std::max(when, runtime_->now());
    timer_.at(when, weak_from_this(), [due](Keeper& self) {
        auto const now = self.runtime_->now();
        self.note_lateness(now - due, now);
        self.run_due(now);
    });
}

void Keeper::note_lateness(Clock::duration late, Instant now)
{
    if (agenda_.empty() || late <= Clock::duration(shortest_ttl_) / 6 || now < warns_from_)
        return;
    warns_from_ = now + warning_pause;
    store_log_.log(
        LogLevel::warning,
        "renewals ran " + milliseconds_text(late) + " late, and the shortest ttl held is " +
            milliseconds_text(shortest_ttl_) +
            (runtime_->has_own_thread() ? ": the process was stopped, or the machine is overloaded; use a longer ttl"
                                        : ": handlers block the executor that renews, or the process was stopped; set "
                                          "StoreOptions::own_thread, or move work that blocks to another executor"));
}

void Keeper::run_due(Instant now)
{
    // reported late, so that short leases in a row do not cost a call each
    if (agenda_.empty() && shortest_ttl_ != milliseconds{0}) {
        shortest_ttl_ = milliseconds{0};
        backend_->shortest_ttl(shortest_ttl_);
    }
    std::exception_ptr failure;
    DueRenewals due;
    due.when = now;
    if (!agenda_.empty() && agenda_.first() <= now)
        for (auto const& record : agenda_.due_by(now + longest_slack)) {
            auto const slack = slack_for(record->machine.ttl());
            try {
                if (record->kept && record->agenda_place.when() <= now + slack)
                    carry_out(record, record->machine.tick(now, slack), due);
            } catch (...) {
                failure = std::current_exception();
            }
        }
    try {
        send(std::move(due));
    } catch (...) {
        failure = std::current_exception();
    }
    if (!agenda_.empty())
        wake_by(failure ? std::max(agenda_.first(), now + pause_after_failure) : agenda_.first());
    if (failure)
        std::rethrow_exception(failure);
}

void Keeper::carry_out(LeaseRecordPtr const& record, LeaseMachine::Step const& step, Instant now)
{
    DueRenewals due;
    due.when = now;
    carry_out(record, step, due);
    send(std::move(due));
}

void Keeper::carry_out(LeaseRecordPtr const& record, LeaseMachine::Step const& step, DueRenewals& due)
{
    if (!record->kept)
        return;
    if (step.fire != CancelReason::none) {
        end_lease(*record, step.fire, runtime_->now());
        return;
    }
    // after the begin of a release on another thread nothing is renewed: the release is on its way to this strand
    if (record->released()) {
        forget(*record, runtime_->now());
        return;
    }
    bool const was_at_risk = record->shows_risk();
    if (!record->publish()) {
        end_lease(*record, record->token().reason(), runtime_->now());
        return;
    }
    if (record->machine.at_risk() && !was_at_risk) {
        lines_.at_risk(*record, record->machine.valid_until() - runtime_->now());
        events_.happened(Event::Kind::at_risk, *record, due.when);
    } else if (!record->machine.at_risk() && was_at_risk) {
        lines_.renewed_again(*record);
        events_.happened(Event::Kind::renewed_late, *record, due.when);
    }
    agenda_.move(record->agenda_place, step.wake_at);
    wake_by(step.wake_at);
    if (step.renew == 0)
        return;
    RenewRequest request;
    request.claim = record->claim_ptr();
    request.ttl = record->machine.ttl();
    request.not_after = record->machine.fires_at();
    due.requests.push_back(std::move(request));
    due.renewals.push_back({record, step.renew});
}

void Keeper::send(DueRenewals due)
{
    if (due.requests.empty())
        return;
    // shared, because the handler may be copied
    auto requests = std::move(due.requests);
    auto const open = std::make_shared<DueRenewals>(std::move(due));
    auto answered = [weak = weak_from_this(), open](std::span<RenewAnswer const> answers) {
        auto const self = weak.lock();
        if (!self)
            return;
        DueRenewals next;
        next.when = self->runtime_->now();
        std::exception_ptr failure;
        for (auto const& [request, reply] : answers)
            try {
                self->answered(std::exchange(open->renewals[request], {}), open->when, reply, next);
            } catch (...) {
                failure = std::current_exception();
            }
        self->send(std::move(next));
        if (failure)
            std::rethrow_exception(failure);
    };
    try {
        backend_->renew(std::move(requests), std::move(answered));
    } catch (...) {
        not_taken(*open);
        throw;
    }
}

void Keeper::not_taken(DueRenewals const& renewals)
{
    DueRenewals none;
    none.when = runtime_->now();
    for (auto const& [record, attempt] : renewals.renewals)
        if (record)
            carry_out(record, record->machine.failed(attempt, true, none.when, jitter(none.when)), none);
}

void Keeper::answered(Renewal const& renewal, Instant sent, RenewReply const& reply, DueRenewals& due)
{
    auto const& [record, attempt] = renewal;
    auto const now = due.when;
    counters_.requests.ended(RequestKind::renew, reply, now - sent);
    if (!std::holds_alternative<Failure>(reply))
        store_log_.answered();
    auto& machine = record->machine;
    if (auto const* renewed = std::get_if<Renewed>(&reply)) {
        auto const step = machine.renewed(attempt, renewed->ttl, renewed->since, now, jitter(now));
        if (step.fire == CancelReason::none && !machine.ended()) {
            if (step.renewed)
                counters_.renewed_with(machine.last_margin(), counters_.names.at(record->name));
            finish_calls(*record, attempt, {}, false);
        }
        carry_out(record, step, due);
    } else if (std::holds_alternative<NotOwner>(reply)) {
        carry_out(record, machine.disowned(), due);
    } else if (auto const* const failure = std::get_if<Failure>(&reply)) {
        add_one(counters_.renewals_failed);
        store_log_.failed(*failure, StoreLog::Asked::by_itself);
        finish_calls(*record, attempt, error_for_caller(*failure), true);
        carry_out(record, machine.failed(attempt, failure->may_take_effect(), now, jitter(now)), due);
    }
}

void Keeper::report_loss(LeaseRecord& record)
{
    auto const reason = record.token().reason();
    if (!is_loss(reason) || std::exchange(record.loss_counted, true))
        return;
    counters_.lost(reason, counters_.names.at(record.name));
    if (events_.wanted())
        events_.happened(Event::Kind::lost, record, runtime_->now());
    if (!closed_)
        lines_.lost(record, reason);
}

void Keeper::renew(LeaseRecordPtr const& record, milliseconds ttl, std::shared_ptr<Call<>> call)
{
    if (!record->kept) {
        call->complete(make_error_code(record->released() ? errc::released : errc::lease_lost));
        return;
    }
    auto const before = record->machine.ttl();
    auto const now = runtime_->now();
    auto const step = record->machine.renew_now(ttl, now);
    if (record->machine.ttl() != before) {
        note_ttl(before, -1);
        note_ttl(record->machine.ttl(), 1);
    }
    record->renewing.emplace_back(step.renew, std::move(call));
    carry_out(record, step, now);
}

void Keeper::finish_calls(LeaseRecord& record, LeaseMachine::AttemptId answered, error_code error, bool only_that)
{
    if (record.renewing.empty())
        return;
    std::erase_if(record.renewing, [&](auto const& call) {
        auto const& [attempt, waiting] = call;
        if (answered != 0 && (only_that ? attempt != answered : attempt > answered))
            return false;
        waiting->complete(error);
        return true;
    });
}

void Keeper::reachable()
{
    auto const now = runtime_->now();
    DueRenewals due;
    due.when = now;
    for (auto const& record : agenda_.all())
        if (record->kept)
            carry_out(record, record->machine.reachable(now), due);
    send(std::move(due));
}

void Keeper::close()
{
    closed_ = true;
    timer_.cancel();
    auto const now = runtime_->now();
    for (auto const& record : agenda_.all())
        if (record->kept)
            end_lease(*record, CancelReason::store_closed, now);
}

} // namespace tenure::engine
