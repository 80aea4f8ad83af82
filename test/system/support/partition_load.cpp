// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/partition_load.hpp"

#include "harness/eventually.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

namespace
{

using namespace std::chrono_literals;

constexpr int contending_stores = 3;
constexpr int contenders_of_each = 8;
/// number of contenders per store that hold for long; most claims come from the others
constexpr int patient_of_each = 2;
constexpr std::chrono::milliseconds a_moment = 200ms;
constexpr std::chrono::milliseconds a_while = 2s;
constexpr std::chrono::milliseconds step = 20ms;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

asio::awaitable<void> pause_for(std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(time);
    co_await timer.async_wait(awaited);
}

} // namespace

void Observed::add(Observed const& other)
{
    grants += other.grants;
    longest_without_grant = std::max(longest_without_grant, other.longest_without_grant);
    last_grant = std::max(last_grant, other.last_grant);
    lost += other.lost;
    expired += other.expired;
    untold += other.untold;
    taken += other.taken;
    least_margin = std::min(least_margin, other.least_margin);
    latest_firing = std::max(latest_firing, other.latest_firing);
    least_left = std::min(least_left, other.least_left);
}

PartitionLoad::PartitionLoad(std::string const& url, std::chrono::milliseconds ttl)
    : audit_(Auditor::create(directory_.file("audit"), held_keys + contended_keys))
    , watched_since_(boottime_ns())
{
    auto const start = [this](RunningStore& store, asio::awaitable<void> work) {
        ++under_way_;
        asio::co_spawn(store.executor(), std::move(work), [this](std::exception_ptr const& error) {
            --under_way_;
            if (error)
                std::rethrow_exception(error);
        });
    };
    for (int number = 0; number <= contending_stores; ++number) {
        auto& store = *stores_.emplace_back(std::make_unique<RunningStore>(url));
        Pool const held{SlotPool{store.store(), {.prefix = "held:", .size = held_keys, .ttl = ttl}}, 0};
        if (number == 0) {
            for (std::uint32_t i = 0; i < held_keys; ++i)
                start(store, keep(held));
            if (!eventually([this] { return all_valid_beyond(boottime_ns()); }, 60s))
                throw std::runtime_error(
                    "not all slots of a pool that nobody else uses were acquired:\n" + store.log());
            continue;
        }
        Pool const contended{
            SlotPool{store.store(), {.prefix = "contended:", .size = contended_keys, .ttl = ttl}}, held_keys};
        start(store, wait_for_a_held_one(held));
        for (int i = 0; i < contenders_of_each; ++i)
            start(store, contend(contended, i < patient_of_each ? a_while : a_moment));
    }
}

PartitionLoad::~PartitionLoad()
{
    stopped_ = true;
    if (eventually([this] { return under_way_ == 0; }, 120s))
        return;
    // they use what would be gone
    std::cerr << "leases were neither acquired nor given up; the log of the store that holds:\n" << stores_[0]->log();
    std::abort();
}

bool PartitionLoad::all_valid_beyond(std::int64_t instant) const
{
    if (kept_ != held_keys)
        return false;
    for (std::uint32_t cell = 0; cell < held_keys; ++cell) {
        auto const holding = audit_.occupant(cell);
        if (!holding || holding->valid_until <= instant)
            return false;
    }
    return true;
}

// -- what is seen --

Observed PartitionLoad::observed() const
{
    std::lock_guard const lock{mutex_};
    auto result = observed_;
    auto const since = std::max(watched_since_, result.last_grant);
    result.longest_without_grant =
        std::max(result.longest_without_grant, std::chrono::nanoseconds{boottime_ns() - since});
    return result;
}

Observed PartitionLoad::take_observed()
{
    auto result = observed();
    std::lock_guard const lock{mutex_};
    observed_ = {};
    watched_since_ = boottime_ns();
    return result;
}

void PartitionLoad::granted()
{
    std::lock_guard const lock{mutex_};
    auto const now = boottime_ns();
    std::chrono::nanoseconds const without{now - std::max(watched_since_, observed_.last_grant)};
    observed_.longest_without_grant = std::max(observed_.longest_without_grant, without);
    observed_.last_grant = now;
    ++observed_.grants;
}

void PartitionLoad::renewed(std::chrono::nanoseconds margin)
{
    std::lock_guard const lock{mutex_};
    observed_.least_margin = std::min(observed_.least_margin, margin);
}

void PartitionLoad::fired(Slot const& slot, std::int64_t told, std::int64_t began)
{
    std::lock_guard const lock{mutex_};
    if (told == 0) {
        ++observed_.untold;
        return;
    }
    if (slot.token().reason() != CancelReason::expired) {
        ++observed_.lost;
        return;
    }
    ++observed_.expired;
    // the answer to a claim may take longer than the time until its token is due
    std::chrono::nanoseconds const late{told - std::max(nanoseconds(slot.stop_at()), began)};
    std::chrono::nanoseconds const left{nanoseconds(slot.valid_until()) - told};
    observed_.latest_firing = std::max(observed_.latest_firing, late);
    observed_.least_left = std::min(observed_.least_left, left);
}

// -- who holds --

asio::awaitable<void> PartitionLoad::hold(Slot& slot, std::uint32_t cell, std::chrono::milliseconds time)
{
    auto const began = boottime_ns();
    auto until = nanoseconds(slot.valid_until());
    auto const entry = audit_.enter(cell, until, slot.fencing_token());
    // told as work is that waits for its token; 0: not yet
    auto const told = std::make_shared<std::int64_t>(0);
    slot.token().async_wait([told](error_code error) {
        if (!error)
            *told = boottime_ns();
    });
    auto const end = Clock::now() + time;
    while (!stopped_ && Clock::now() < end && !slot.token().cancelled()) {
        if (auto const now_until = nanoseconds(slot.valid_until()); now_until != until) {
            audit_.extend(entry, now_until);
            if (cell < held_keys)
                renewed(std::chrono::nanoseconds{until - boottime_ns()});
            until = now_until;
        }
        co_await pause_for(step);
    }
    audit_.leave(entry);
    if (!slot.token().cancelled())
        co_return;
    for (auto const limit = Clock::now() + 2s; *told == 0 && Clock::now() < limit;)
        co_await pause_for(1ms);
    fired(slot, *told, began);
}

asio::awaitable<Slot> PartitionLoad::acquire(Pool const& pool, std::chrono::milliseconds wait)
{
    auto result = co_await pool.pool.async_acquire({.wait = wait}, awaited);
    auto& [error, slot] = result;
    if (error)
        co_await pause_for(step);
    co_return std::move(slot);
}

asio::awaitable<void> PartitionLoad::keep(Pool pool)
{
    while (!stopped_) {
        auto slot = co_await acquire(pool, 10s);
        if (slot.empty())
            continue;
        ++kept_;
        co_await hold(slot, pool.first_cell + slot.id(), std::chrono::hours{24});
        --kept_;
        co_await slot.async_release(awaited);
    }
}

asio::awaitable<void> PartitionLoad::contend(Pool pool, std::chrono::milliseconds time)
{
    while (!stopped_) {
        auto slot = co_await acquire(pool, 2s);
        if (slot.empty())
            continue;
        granted();
        co_await hold(slot, pool.first_cell + slot.id(), time);
        co_await slot.async_release(awaited);
    }
}

asio::awaitable<void> PartitionLoad::wait_for_a_held_one(Pool pool)
{
    while (!stopped_) {
        auto slot = co_await acquire(pool, 10s);
        if (slot.empty())
            continue;
        {
            std::lock_guard const lock{mutex_};
            ++observed_.taken;
        }
        co_await hold(slot, pool.first_cell + slot.id(), step);
        co_await slot.async_release(awaited);
    }
}

} // namespace tenure::test
