// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ClaimWindow: turns, deadlines, and abandoned claims.
#include "claim_window.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace tenure::store
{

namespace
{

/// with fewer waiting claims, each look for abandoned ones is cheap
constexpr std::size_t few = 64;
/// A look at one claim takes less than a tenth of this, so looks take at most a tenth of the time.
constexpr auto pause_per_claim = std::chrono::microseconds{1};

} // namespace

ClaimWindow::ClaimWindow(std::shared_ptr<Runtime> runtime, std::size_t size) noexcept
    : runtime_(std::move(runtime))
    , size_(std::max<std::size_t>(size, 1))
    , timer_(*runtime_)
{
}

ClaimWindow::Place ClaimWindow::begin_now()
{
    ++begun_;
    return Place(shared_from_this());
}

void ClaimWindow::begin(Deadline not_after, Turn turn)
{
    if (has_room()) {
        turn(begin_now());
        return;
    }
    auto const ticket = ++last_ticket_;
    auto const until = not_after.at();
    if (until != Instant::max())
        deadlines_.emplace(until, ticket);
    waiting_.emplace_hint(
        waiting_.end(), ticket, Waiting{std::move(not_after), std::move(turn), begun_ + waiting_.size(), turns_given_});
    arm(runtime_->now());
}

Step<std::variant<ClaimWindow::Place, Failure>> ClaimWindow::turn(Deadline not_after)
{
    return Step<std::variant<Place, Failure>>(
        [self = shared_from_this(), not_after = std::move(not_after)](Turn handler) mutable {
            self->begin(std::move(not_after), std::move(handler));
        });
}

void ClaimWindow::ended(std::uint64_t series) noexcept
try {
    if (series != series_)
        return;
    --begun_;
    let_next_begin_soon();
} catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the next end of a claim or the timer tries again
}

void ClaimWindow::let_next_begin_soon()
{
    if (!waiting_.empty())
        next_.post(*runtime_, weak_from_this(), &ClaimWindow::let_next_begin);
}

void ClaimWindow::begin_anew()
{
    ++series_;
    begun_ = 0;
    let_next_begin_soon();
}

void ClaimWindow::resize(std::size_t size)
{
    size_ = std::max<std::size_t>(size, 1);
    let_next_begin_soon();
}

void ClaimWindow::let_next_begin()
{
    auto const now = runtime_->now();
    drop_overdue(now);
    while (begun_ < size_ && !waiting_.empty()) {
        auto const first = waiting_.begin();
        if (first->second.not_after.abandoned()) {
            drop(first, Failure::dropped());
            continue;
        }
        auto turn = std::move(first->second.turn);
        deadlines_.erase({first->second.not_after.at(), first->first});
        waiting_.erase(first);
        ++turns_given_;
        turn(begin_now());
    }
    arm(now);
}

void ClaimWindow::drop_abandoned()
{
    if (waiting_.empty())
        return;
    auto const now = runtime_->now();
    if (waiting_.size() > few && now < look_after_) {
        look_due_ = true;
        arm(now);
        return;
    }
    look_for_abandoned(now);
}

void ClaimWindow::look_for_abandoned(Instant now)
{
    look_due_ = false;
    look_after_ = now + pause_per_claim * static_cast<Clock::rep>(waiting_.size());
    for (auto place = waiting_.begin(); place != waiting_.end();)
        place = place->second.not_after.abandoned() ? drop(place, Failure::dropped()) : std::next(place);
}

void ClaimWindow::fail_all(Failure const& failure)
{
    while (!waiting_.empty())
        drop(waiting_.begin(), failure);
    timer_.cancel();
}

Failure ClaimWindow::not_its_turn(Waiting const& waiting) const
{
    auto const gone = static_cast<std::size_t>(turns_given_ - waiting.turns_before);
    auto const ahead = waiting.ahead > gone ? waiting.ahead - gone : std::size_t{0};
    return Failure::dropped(std::to_string(ahead) + " claims of this process were ahead of it");
}

ClaimWindow::Queue::iterator ClaimWindow::drop(Queue::iterator place, Failure failure)
{
    auto turn = std::move(place->second.turn);
    deadlines_.erase({place->second.not_after.at(), place->first});
    auto const next = waiting_.erase(place);
    runtime_->post([turn = std::move(turn), failure = std::move(failure)]() mutable { turn(std::move(failure)); });
    return next;
}

void ClaimWindow::drop_overdue(Instant now)
{
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        auto const place = waiting_.find(deadlines_.begin()->second);
        drop(place, not_its_turn(place->second));
    }
}

void ClaimWindow::arm(Instant now)
{
    auto when = deadlines_.empty() ? Instant::max() : deadlines_.begin()->first;
    if (look_due_)
        when = std::min(when, std::max(look_after_, now));
    // an early wake-up costs less than a new timer for each claim
    if (when == Instant::max() || waiting_.empty())
        return;
    timer_.by(when, weak_from_this(), &ClaimWindow::tick);
}

void ClaimWindow::tick()
{
    auto const now = runtime_->now();
    if (look_due_ && now >= look_after_)
        look_for_abandoned(now);
    let_next_begin();
}

} // namespace tenure::store
