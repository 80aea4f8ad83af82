// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Holder: its turns, with slots and locks or with shares of a key.
#include "holder.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <chrono>
#include <tuple>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

void Holder::stop()
{
    cancel_.emit(asio::cancellation_type::total);
}

asio::awaitable<void> Holder::take_turns()
{
    while (!place_.ended) {
        if (place_.shares)
            co_await take_share();
        else
            co_await take_turn();
    }
}

asio::awaitable<void> Holder::take_turn()
{
    Hold hold;
    hold.lease = co_await acquire(hold.cell);
    if (hold.lease.empty()) {
        co_await pause(random_.between(5ms, 40ms));
        co_return;
    }
    enter(hold);
    co_await work(hold);
    co_await give_back(hold);
}

asio::awaitable<Lease> Holder::acquire(std::uint32_t& cell)
{
    static constexpr std::chrono::milliseconds patience[] = {0ms, 200ms, 1500ms, 8000ms};
    AcquireOptions const options{patience[random_.below(4)]};
    if (random_.one_in(8))
        cancel_soon();
    error_code error;
    Lease lease;
    if (place_.arena.locks == 0 || random_.below(8) < 5) {
        auto result = co_await place_.pool->async_acquire(
            options, asio::bind_cancellation_slot(cancel_.slot(), asio::as_tuple(asio::use_awaitable)));
        error = std::get<0>(result);
        if (!error)
            cell = std::get<1>(result).id();
        lease = std::move(std::get<1>(result)).as_lease();
    } else {
        auto const lock = static_cast<std::uint32_t>(random_.below(place_.arena.locks));
        cell = place_.arena.slots + lock;
        auto result = co_await place_.locks[lock].async_acquire(
            options, asio::bind_cancellation_slot(cancel_.slot(), asio::as_tuple(asio::use_awaitable)));
        error = std::get<0>(result);
        lease = std::move(std::get<1>(result));
    }
    canceller_.cancel();
    if (error)
        place_.testimony.add_failed(error.message());
    co_return lease;
}

void Holder::cancel_soon()
{
    canceller_.expires_after(random_.between(0ms, 60ms));
    canceller_.async_wait([this](error_code error) {
        if (!error)
            stop();
    });
}

asio::awaitable<void> Holder::take_share()
{
    Hold hold;
    hold.cell = share_cell_;
    hold.began = boottime_ns();
    hold.lease = co_await acquire_share(hold);
    Turn turn{
        .pid = ::getpid(),
        .worker = place_.shares->work().number,
        .cell = hold.cell,
        .part = hold.part,
        .began = hold.began,
        .token = hold.lease.empty() ? 0 : hold.lease.fencing_token()};
    if (!hold.lease.empty()) {
        enter(hold);
        turn.granted = hold.entered;
        co_await work(hold);
        co_await give_back(hold);
    }
    turn.ended = boottime_ns();
    place_.testimony.add(turn);
}

asio::awaitable<Lease> Holder::acquire_share(Hold& hold)
{
    auto const demand = place_.shares->choose(hold.cell, random_);
    hold.part = demand.part;
    if (!place_.shares->work().calm && random_.one_in(8))
        cancel_soon();
    auto completion = asio::bind_cancellation_slot(cancel_.slot(), asio::as_tuple(asio::use_awaitable));
    std::tuple<error_code, Lease> result;
    if (demand.semaphore != nullptr)
        result = co_await demand.semaphore->async_acquire(demand.options, completion);
    else
        result = co_await demand.lock->async_acquire(demand.options, completion);
    canceller_.cancel();
    if (auto const error = std::get<0>(result)) {
        place_.testimony.add_failed(error.message());
        if (error != errc::timed_out || *demand.options.wait == 0ms)
            co_await pause(random_.between(5ms, 40ms));
    }
    co_return std::move(std::get<1>(result));
}

} // namespace tenure::faults
