// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Turns at a fair lock without faults.
#include "world.hpp"

#include <tenure/lock.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tenure::simulation
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

SmallOutcome run_fair_world(std::uint64_t seed)
{
    constexpr unsigned equals = 4;
    constexpr unsigned waiters = 3;
    constexpr auto hold = 100ms;
    SmallOutcome outcome;
    testing::VirtualTime time;
    Random random(seed, 92);
    PlaceBook book(time);
    book.on_lapse = [](PlaceBook::Place const&) {};
    book.on_give_back = [](std::string const&) {};
    book.on_violation = [&](char const* rule) { outcome.violation = rule; };
    auto const store = make_shared_store(time, book);
    std::array<std::uint64_t, equals> turns{};
    bool ends = false;
    {
        std::vector<Store> stores;
        std::vector<std::function<void()>> loops;
        for (unsigned process = 0; process < equals; ++process) {
            auto const runtime = testing::make_runtime(time, seed * 10 + process);
            auto const link = store->link(seed * 10 + process);
            link->set_longest_delay(2ms);
            stores.emplace_back(runtime, link->backend(runtime), StoreOptions{.worker_name = "worker"});
        }
        for (unsigned process = 0; process < equals; ++process)
            for (unsigned waiter = 0; waiter < waiters; ++waiter) {
                auto const lock =
                    std::make_shared<Lock>(stores[process], LockConfig{.key = "fair", .ttl = 3s, .fair = true});
                auto const loop = std::make_shared<std::function<void()>>();
                *loop = [&, process, lock, weak = std::weak_ptr(loop)] {
                    // different ones: a place passes only to a waiter whose wait goes on
                    auto const wait = process == 0 ? milliseconds(random.between(150, 250)) : 5000ms;
                    lock->async_acquire(
                        {.wait = wait}, [&, process, next = weak.lock()](error_code error, Lease lease) {
                            if (ends || !next)
                                return;
                            if (error) {
                                (*next)();
                                return;
                            }
                            ++turns.at(process);
                            auto const held = std::make_shared<Lease>(std::move(lease));
                            time.async_wait_for(hold, [held, next](error_code) {
                                *held = Lease();
                                (*next)();
                            });
                        });
                };
                loops.emplace_back([loop] { (*loop)(); });
            }
        for (auto const& loop : loops)
            loop();
        time.run_for(60s);
        ends = true;
        loops.clear();
    }
    time.run_for(10s);
    std::uint64_t all = 0;
    for (auto const count : turns)
        all += count;
    for (auto const count : turns) {
        outcome.trace = outcome.trace * 0x100000001b3U ^ count;
        if (2 * equals * count < all || equals * count > 2 * all)
            outcome.violation = "L8: a process gets less than half or more than twice its share of turns";
    }
    outcome.counts["turns"] = all;
    return outcome;
}

} // namespace tenure::simulation
