// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// TurnMachine: hints, names, graces and places in line.
#include "turn_machine.hpp"

#include <algorithm>
#include <utility>

namespace tenure::engine
{

namespace
{

constexpr Clock::duration shortest_grace = std::chrono::milliseconds{10};
/// a slow answer must not delay a waiter much longer than a poll would
constexpr Clock::duration longest_grace = std::chrono::milliseconds{250};

} // namespace

Instant Grace::over_at(Instant now, std::uint64_t random) const noexcept
{
    auto const grace = std::clamp(round_trip_ * 2, shortest_grace, longest_grace);
    return now + grace + grace / 1024 * static_cast<Clock::rep>(random % 1024);
}

TurnMachine::Step TurnMachine::news(backend::WatchEvent event, Head head, Instant now, std::uint64_t random)
{
    switch (event) {
    case backend::WatchEvent::in_force:
        hints_ = Hints::come;
        // releases before the subscription was in force were not announced to this wait queue
        return {.claim_at = at_once};
    case backend::WatchEvent::hint:
        note_release(head, now);
        return {.claim_at = at_once};
    case backend::WatchEvent::our_turn:
        note_release(head, now);
        return named(head, now);
    case backend::WatchEvent::others_turn:
        if (head.holds_back)
            return {};
        return {.claim_at = grace_.over_at(now, random)};
    case backend::WatchEvent::interrupted:
        return {};
    case backend::WatchEvent::unavailable:
        hints_ = Hints::ended;
        // it would never be notified of its turn
        return {.leave_line = lined_up_};
    }
    return {};
}

void TurnMachine::note_release(Head head, Instant now) noexcept
{
    // a claim that is under way was sent because of an earlier release, or may get this one's key
    if (head.exists && (!freed_at_ || !head.asks))
        freed_at_ = now;
}

TurnMachine::Step TurnMachine::named(Head head, Instant now)
{
    // A pending claim may find the keys held after the name left the line, and add it again. The answer to such a claim
    // may also come before this news, because the two come on different ways.
    bool const just_placed = placed_again_ && now < grace_.over_at(*placed_again_, 0);
    place_may_stay_ = place_may_stay_ || head.asks || just_placed;
    placed_ = false;
    placed_again_.reset();
    // kept for the next head; a head with a pending claim asks again after the answer
    named_ = head.exists;
    if (!head.exists)
        named_without_head_at_ = now;
    return {.claim_at = at_once};
}

TurnMachine::Step TurnMachine::turn_begins(Instant now) const
{
    // at once, because the old head may have consumed a hint
    return {.claim_at = now < held_until_ ? held_until_ : at_once};
}

std::optional<Instant> TurnMachine::opens_at(Instant now, std::uint64_t random) const
{
    auto const opens =
        releases_ > 0 && now < contended_until_ ? std::max(held_until_, grace_.over_at(now, random)) : held_until_;
    return opens > now ? std::optional(opens) : std::nullopt;
}

bool TurnMachine::lines_up() const noexcept
{
    return keeps_line_ && (hints_ == Hints::come || (hints_ == Hints::none_yet && lined_up_));
}

backend::Waits TurnMachine::next_place()
{
    if (!lines_up())
        return backend::Waits::no;
    lined_up_ = true;
    return std::exchange(named_, false) ? backend::Waits::in_front : backend::Waits::in_line;
}

TurnMachine::Step TurnMachine::placed(Instant now) noexcept
{
    // the first one has taken the place of which the next news tells, unless a grant came before its own news
    if (std::exchange(placed_, true))
        placed_again_ = now;
    return {.leave_line = !lines_up()};
}

void TurnMachine::found_held(Instant sent) noexcept
{
    if (freed_at_ && *freed_at_ <= sent)
        freed_at_.reset();
}

bool TurnMachine::named_since(Instant sent) noexcept
{
    if (named_without_head_at_ < sent)
        return false;
    named_without_head_at_ = Instant::min();
    named_ = place_may_stay_ = true;
    return true;
}

TurnMachine::Step TurnMachine::granted(backend::Waits place, bool to_head)
{
    // the news of a name that this claim had not waited for may be under way
    placed_ = place == backend::Waits::in_line && !named_;
    named_ = false;
    placed_again_.reset();
    // The removed name also stood for the head, which claims again and joins the line again.
    return to_head ? Step{} : Step{.claim_at = at_once};
}

void TurnMachine::release_begins(Instant now) noexcept
{
    ++releases_;
    freed_at_ = now;
}

TurnMachine::Step TurnMachine::release_ends(bool freed) noexcept
{
    if (releases_ > 0)
        --releases_;
    return freed ? Step{.claim_at = at_once} : Step{};
}

TurnMachine::Step TurnMachine::release_named_another(Instant now, std::uint64_t random)
{
    if (releases_ > 0)
        --releases_;
    freed_at_.reset();
    contended_until_ = now + linger;
    held_until_ = grace_.over_at(now, random);
    return {.claim_at = held_until_};
}

std::optional<Instant> TurnMachine::freed_at() noexcept
{
    return std::exchange(freed_at_, std::nullopt);
}

} // namespace tenure::engine
