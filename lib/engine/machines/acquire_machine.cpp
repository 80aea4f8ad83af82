// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// AcquireMachine: pauses, polls, and retries of claims.
#include "acquire_machine.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::engine
{

namespace
{

using std::chrono::milliseconds;

constexpr Clock::duration shortest_backoff = milliseconds{20};
constexpr Clock::duration longest_backoff = milliseconds{1000};
/// while a claim is unanswered
constexpr Clock::duration patience_limit = std::chrono::seconds{30};
/// without hints only polling finds a release
constexpr Clock::duration longest_poll = milliseconds{250};
/// If keys become free without notifications, the pause is random between these: even a waiter that missed its turn
/// claims within 100 ms.
constexpr Clock::duration shortest_poll = milliseconds{50};
constexpr Clock::duration longest_silent_poll = milliseconds{90};
/// Claims take at most a twentieth of a waiter's time. With a much smaller share, waiters whose claims take some
/// milliseconds lose the keys to programs that poll steadily.
constexpr int poll_share = 20;
constexpr Clock::duration time_to_report = milliseconds{10};
/// a key is free a moment after its ttl, because servers count in milliseconds
constexpr Clock::duration after_expiry = milliseconds{2};

} // namespace

error_code AcquireMachine::reason() const
{
    if (last_)
        return last_;
    bool const behind_others = phase_ == Phase::queued || phase_ == Phase::held_back;
    return make_error_code(behind_others ? errc::timed_out : errc::store_unavailable);
}

AcquireMachine::Step AcquireMachine::finish(error_code error)
{
    phase_ = Phase::ended;
    return {false, error, Instant::max()};
}

Clock::duration AcquireMachine::patience() const noexcept
{
    // Doubles for each unanswered claim. A lost claim must not count more after each answered one.
    constexpr unsigned most_doublings = 10;
    return std::min(limits_.patience * (1 << std::min(asked_ - 1, most_doublings)), patience_limit);
}

AcquireMachine::Step AcquireMachine::ask(Instant now)
{
    phase_ = Phase::asking;
    ask_after_answer_ = false;
    yields_until_ = Instant::max();
    ++asked_;
    overlapped_ = overlapped_ || asked_ > 1;
    unwritten_ = true;
    next_ask_ = now + patience();
    return {true, std::nullopt, std::min(next_ask_, limits_.deadline)};
}

AcquireMachine::Step AcquireMachine::wait() const noexcept
{
    return {false, std::nullopt, std::min(next_ask_, limits_.deadline)};
}

AcquireMachine::Step AcquireMachine::wait_until(Instant instant, Instant now)
{
    if (ask_after_answer_)
        return ask(now);
    phase_ = Phase::waiting;
    poll_at_ = instant;
    next_ask_ = std::min(poll_at_, yields_until_);
    return wait();
}

AcquireMachine::Step AcquireMachine::claim_at(Instant when, Instant now)
{
    if (phase_ == Phase::ended)
        return {};
    // an acquisition claims once, however short its wait
    if (now >= limits_.deadline && (phase_ != Phase::idle || when > now))
        return finish(reason());
    if (when <= now) {
        if (phase_ != Phase::asking)
            return ask(now);
        ask_after_answer_ = true;
    } else if (when == Instant::max()) {
        phase_ = Phase::queued;
        ask_after_answer_ = false;
        next_ask_ = when;
    } else {
        hold_back(when, now);
    }
    return wait();
}

void AcquireMachine::hold_back(Instant until, Instant now) noexcept
{
    if (phase_ == Phase::asking) {
        // the pending claim may have reached the store before the others were named
        yields_until_ = until;
        return;
    }
    if (phase_ == Phase::idle || phase_ == Phase::queued) {
        phase_ = Phase::held_back;
        // Further releases may postpone it, but not forever. A short wait must not end without a claim.
        poll_at_ = until + (until - now);
        if (limits_.deadline != Instant::max())
            poll_at_ = std::min(poll_at_, now + (limits_.deadline - now) / 2);
    }
    next_ask_ = std::min(poll_at_, until);
}

AcquireMachine::Step AcquireMachine::tick(Instant now)
{
    if (phase_ == Phase::ended)
        return {};
    if (now >= limits_.deadline)
        return finish(reason());
    if (now >= next_ask_) {
        if (phase_ != Phase::asking || !unwritten_)
            return ask(now);
        next_ask_ = now + patience();
    }
    return wait();
}

Instant AcquireMachine::write_by(Instant started) const noexcept
{
    auto const deadline = limits_.deadline;
    return deadline == Instant::max() ? deadline : deadline - std::min(time_to_report, (deadline - started) / 10);
}

void AcquireMachine::progressed(Instant when) noexcept
{
    if (phase_ != Phase::asking)
        return;
    unwritten_ = false;
    next_ask_ = when + patience();
}

Clock::duration AcquireMachine::next_backoff(std::uint64_t random, Clock::duration longest) noexcept
{
    // decorrelated jitter: a random length between the shortest and three times the last one
    auto const span = std::max(backoff_ * 3, shortest_backoff * 2) - shortest_backoff;
    backoff_ = std::min(longest, shortest_backoff + span / 1024 * static_cast<Clock::rep>(random % 1024));
    return backoff_;
}

Clock::duration AcquireMachine::next_poll(Clock::duration took, std::uint64_t random) noexcept
{
    if (!limits_.silent_releases)
        return next_backoff(random, std::min(limits_.hints ? longest_backoff : longest_poll, limits_.longest_pause));
    auto const pause =
        shortest_poll + (longest_silent_poll - shortest_poll) / 1024 * static_cast<Clock::rep>(random % 1024);
    // zero could not be doubled
    took_ = std::min(took, std::max<Clock::duration>(took_, std::chrono::microseconds{1}) * 2);
    return std::min(std::max(pause, took_ * poll_share), limits_.longest_pause);
}

AcquireMachine::Step AcquireMachine::busy(
    backend::Busy const& reply, Clock::duration took, Instant now, std::uint64_t random, Instant ask_by)
{
    answered();
    if (phase_ == Phase::ended)
        return {};
    last_ = make_error_code(reply.never_frees ? errc::key_conflict : errc::timed_out);
    if (reply.never_frees || limits_.only_try || now >= limits_.deadline)
        return finish(last_);
    bool const in_place = ask_by != Instant::max();
    // without messages a waiter polls for its turn as well
    auto pause = in_place && limits_.hints ? limits_.longest_pause : next_poll(took, random);
    if (in_place)
        pause = std::clamp(ask_by - now, Clock::duration::zero(), pause);
    if (reply.earliest_expiry)
        // waiters in other processes know the same instant, so jitter spreads them
        pause =
            std::min<Clock::duration>(pause, *reply.earliest_expiry + after_expiry + milliseconds((random >> 32U) % 8));
    return wait_until(now + pause, now);
}

AcquireMachine::Step AcquireMachine::preferred_held(bool is_first, Instant now, std::uint64_t random)
{
    answered();
    if (phase_ == Phase::ended)
        return {};
    if (!is_first) {
        // the last pending answer: the earlier ones were failures
        if (phase_ == Phase::asking && asked_ == 0)
            return wait_until(now + next_backoff(random, std::min(longest_backoff, limits_.longest_pause)), now);
        return {};
    }
    if (now >= limits_.deadline)
        return finish(make_error_code(errc::timed_out));
    return ask(now);
}

AcquireMachine::Step AcquireMachine::failed(error_code error, bool fatal, Instant now, std::uint64_t random)
{
    answered();
    if (phase_ == Phase::ended)
        return {};
    last_ = error;
    if (fatal || limits_.only_try || now >= limits_.deadline)
        return finish(error);
    // the answer to another pending claim decides
    if (asked_ > 0)
        return wait();
    return wait_until(now + next_backoff(random, std::min(longest_backoff, limits_.longest_pause)), now);
}

AcquireMachine::Step AcquireMachine::given_back(error_code error, bool fatal, Instant now, std::uint64_t random)
{
    // answers to the spent owner's other claims no longer count, and a new owner starts with the first pause
    asked_ = 0;
    return failed(error, fatal, now, random);
}

void AcquireMachine::answered() noexcept
{
    if (asked_ > 0)
        --asked_;
}

} // namespace tenure::engine
