// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "holder.hpp"

#include "harness/owner_mark.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace tenure::faults
{

namespace asio = boost::asio;

using namespace std::chrono_literals;
using test::boottime_ns;

namespace
{

std::int64_t ns(Instant instant)
{
    return instant.time_since_epoch().count();
}

/** The name that the verdict knows it by. */
char const* name_of(CancelReason reason)
{
    switch (reason) {
    case CancelReason::expired:
        return "expired";
    case CancelReason::not_owner:
        return "lost";
    default:
        return "neither expired nor lost";
    }
}

char const* name_of(ReleaseOutcome outcome)
{
    switch (outcome) {
    case ReleaseOutcome::released:
        return "released";
    case ReleaseOutcome::was_lost:
        return "was lost";
    default:
        return "unconfirmed";
    }
}

/// between the library's decision about a grant and its handler
constexpr std::int64_t grant_slack = 20'000'000;

std::string milliseconds_text(std::int64_t ns)
{
    return std::to_string(static_cast<double>(ns) / 1e6) + " ms";
}

} // namespace

Holder::Holder(asio::any_io_executor const& executor, Workplace& place, std::uint64_t seed, std::uint32_t task)
    : place_(place)
    , share_cell_(place.arena.slots + task % std::max(place.arena.locks, 1U))
    , random_(seed)
    , timer_(executor)
    , canceller_(executor)
    , register_(executor, place.register_path)
{
}

void Holder::enter(Hold& hold)
{
    auto const& arena = place_.arena;
    if (hold.cell >= arena.cells() || hold.lease.key() != arena.key(hold.cell)) {
        complain(hold, "S11", "slot " + std::to_string(hold.cell) + " is the key " + hold.lease.key());
        hold.cell = std::min(hold.cell, arena.cells() - 1);
    }
    hold.polls = random_.one_in(2);
    auto const time = place_.shares        ? place_.shares->time_to_hold(random_)
                      : random_.one_in(12) ? random_.between(arena.ttl / 3, arena.ttl * 7 / 3)
                                           : random_.between(0ms, 160ms);
    listen(hold);
    hold.entered = boottime_ns();
    // The library gives back a grant that comes too late.
    auto const late = hold.entered - ns(hold.lease.stop_at());
    if (late > grant_slack && place_.pulse.longest_stall(hold.entered - late, hold.entered) < grant_slack)
        complain(
            hold, "S3", "a grant was " + milliseconds_text(late) + " too late to be used, and the loop had turned");
    hold.until = hold.entered + std::chrono::nanoseconds{time}.count();
    hold.entry = place_.auditor.enter(
        hold.cell, ns(hold.lease.valid_until()), hold.lease.fencing_token(),
        place_.shares ? hold.part.mark() : test::owner_mark(hold.lease.owner()));
}

void Holder::listen(Hold& hold)
{
    hold.lease.token().async_wait([told = hold.told](error_code error) {
        told->at = boottime_ns();
        told->fired = !error;
        told->done = true;
    });
}

asio::awaitable<void> Holder::work(Hold& hold)
{
    // One that was stopped until its lease was over is no holder, and its place among the others is not known.
    // Of shares that hold at the same time, the tokens have no order: the register is for those that exclude all
    // others.
    bool writes =
        ns(hold.lease.valid_until()) > hold.entered && (!place_.shares || hold.part.weight == hold.part.capacity);
    auto next_write = hold.entered;
    while (look(hold) && boottime_ns() < hold.until && !place_.ended) {
        if (writes && boottime_ns() >= next_write) {
            co_await write(hold);
            next_write = boottime_ns() + 40'000'000;
        }
        co_await pause(4ms);
    }
    if (hold.live)
        co_return;
    // A late or missing notification is wrong even after the work has ended.
    auto const limit = boottime_ns() + 10'000'000'000;
    while (!hold.told->done && boottime_ns() < limit) {
        co_await pause(4ms);
        look_at_lateness(hold);
    }
    testify_loss(hold);
    if (writes && random_.one_in(2)) {
        // A holder that was stopped between its look at the token and its write.
        bool const accepted = co_await register_.write(hold.cell, hold.lease.fencing_token(), hold.entered);
        place_.testimony.add_late_write(accepted ? "accepted: nobody with a later token had written" : "rejected");
    }
}

asio::awaitable<void> Holder::write(Hold& hold)
{
    bool const accepted = co_await register_.write(hold.cell, hold.lease.fencing_token(), hold.entered);
    if (!accepted && look(hold) && hold.lease.valid())
        complain(
            hold, "S10/live-holder-rejected",
            "the register rejects the token " + std::to_string(hold.lease.fencing_token()) + " of a live holder");
}

bool Holder::look(Hold& hold)
{
    auto const& lease = hold.lease;
    // The clock first, then what the library says, then what that rests on: whatever passes between the looks, a
    // contradiction is one.
    auto const before = boottime_ns();
    bool const valid = lease.valid();
    auto const valid_until = ns(lease.valid_until());
    if (valid && before >= valid_until)
        complain(hold, "S2", "valid() is true " + milliseconds_text(before - valid_until) + " after valid_until");
    bool over = hold.told->done || !valid;
    if (hold.polls && !hold.told->done) {
        bool const cancelled = lease.token().cancelled();
        auto const fires_at = ns(lease.stop_at());
        over = over || cancelled;
        if (!cancelled && before >= fires_at)
            complain(hold, "S2", "cancelled() is false " + milliseconds_text(before - fires_at) + " after fires_at");
    }
    if (over) {
        leave(hold);
        return false;
    }
    place_.auditor.extend(hold.entry, valid_until);
    place_.auditor.confirm(hold.entry, before);
    look_at_lateness(hold);
    return true;
}

void Holder::look_at_lateness(Hold& hold)
{
    auto const valid_until = ns(hold.lease.valid_until());
    auto const late = boottime_ns() - ns(hold.lease.stop_at());
    if (hold.told->done || late < 0) {
        hold.turns_too_late = 0;
        return;
    }
    // However slow the machine is: in ten turns of the loop the library has had its turn. After a stop the first ones
    // may come before it.
    if (++hold.turns_too_late == 10)
        complain(
            hold, "S2",
            "the loop has turned ten times, and the token has not been told " + milliseconds_text(late) +
                " after its time, " + milliseconds_text(boottime_ns() - place_.arena.expiry(valid_until)) +
                " after the store's expiry (negative: before)");
}

void Holder::leave(Hold& hold)
{
    if (!std::exchange(hold.live, false))
        return;
    place_.auditor.leave(hold.entry);
}

void Holder::testify_loss(Hold& hold)
{
    if (!hold.told->done) {
        complain(hold, "S6", "the token of a lease that is over was never told");
        return;
    }
    auto const& lease = hold.lease;
    Loss loss;
    loss.pid = ::getpid();
    loss.cell = hold.cell;
    loss.fencing_token = lease.fencing_token();
    loss.reason = name_of(lease.token().reason());
    loss.fires_at = ns(lease.stop_at());
    loss.valid_until = ns(lease.valid_until());
    loss.told_at = hold.told->at;
    loss.stall = place_.pulse.longest_stall(loss.fires_at, loss.told_at);
    loss.stall_before = place_.pulse.longest_stall(loss.told_at - 2 * place_.arena.ttl_ns(), loss.told_at);
    if (loss.reason == "expired" && loss.told_at < loss.fires_at)
        complain(
            hold, "S2",
            "the token fired for want of time " + milliseconds_text(loss.fires_at - loss.told_at) + " early");
    place_.testimony.add(loss);
}

asio::awaitable<void> Holder::give_back(Hold& hold)
{
    leave(hold);
    if (random_.one_in(6)) {
        // In the background, by the destructor.
        hold.lease = Lease();
        co_return;
    }
    GivenBack back;
    back.pid = ::getpid();
    back.cell = hold.cell;
    back.fencing_token = hold.lease.fencing_token();
    back.began = boottime_ns();
    auto const result = co_await hold.lease.async_release(asio::as_tuple(asio::use_awaitable));
    back.ended = boottime_ns();
    back.outcome = std::get<0>(result) ? std::get<0>(result).message() : name_of(std::get<1>(result));
    place_.testimony.add(back);
}

asio::awaitable<void> Holder::pause(std::chrono::milliseconds time)
{
    timer_.expires_after(time);
    co_await timer_.async_wait(asio::use_awaitable);
}

void Holder::complain(Hold const& hold, std::string rule, std::string text)
{
    Complaint complaint;
    complaint.pid = ::getpid();
    complaint.cell = hold.cell;
    complaint.at = boottime_ns();
    complaint.rule = std::move(rule);
    complaint.text = std::move(text);
    place_.testimony.add(complaint);
}

} // namespace tenure::faults
