// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "share_keys.hpp"

#include "harness/auditor.hpp"

#include <tenure/backend/backend.hpp>

#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;

ShareKeys::ShareKeys(Store const& store, Arena const& arena, ShareWork work)
    : arena_(arena)
    , work_(std::move(work))
{
    for (std::uint32_t cell = arena.slots; cell < arena.cells(); ++cell) {
        auto const key = arena.key(cell);
        if (arena.kind(cell) == 'f')
            fair_locks_.emplace(cell, Lock(store, LockConfig{.key = key, .ttl = arena.ttl, .fair = true}));
        else if (arena.kind(cell) == 'r')
            read_write_locks_.emplace(cell, ReadWriteLock(store, {.key = key, .ttl = arena.ttl}));
        else
            for (auto const permits : ShareWork::permits)
                semaphores_[cell].emplace_back(
                    store, SemaphoreConfig{.key = key, .permits = permits, .ttl = arena.ttl});
    }
}

std::chrono::milliseconds ShareKeys::patience(char kind, Random& random) const
{
    if (work_.only_tries(test::boottime_ns()))
        return 0ms;
    bool const hasty = work_.calm && kind == 'f' ? work_.number % 3 == 0 : random.one_in(3);
    if (hasty)
        return random.between(150ms, 250ms);
    return !work_.calm && random.one_in(6) ? 0ms : 20s;
}

ShareKeys::Demand ShareKeys::choose(std::uint32_t cell, Random& random) const
{
    auto const kind = arena_.kind(cell);
    Demand demand;
    demand.options.wait = patience(kind, random);
    if (kind == 'f') {
        demand.lock = &fair_locks_.at(cell);
    } else if (kind == 'r') {
        auto const& both = read_write_locks_.at(cell);
        bool const writes = random.one_in(3);
        demand.lock = writes ? &both.write_lock() : &both.read_lock();
        demand.part = {writes ? backend::Share::all : 1, backend::Share::all};
    } else {
        auto const index = work_.permits_index(test::boottime_ns());
        demand.semaphore = &semaphores_.at(cell)[index];
        auto const permits = ShareWork::permits[index];
        demand.options.permits = static_cast<std::uint32_t>(1 + random.below(permits));
        demand.part = {demand.options.permits, permits};
    }
    return demand;
}

std::chrono::milliseconds ShareKeys::time_to_hold(Random& random) const
{
    if (work_.calm)
        return random.between(30ms, 50ms);
    return random.one_in(25) ? random.between(arena_.ttl / 3, arena_.ttl * 4 / 3) : random.between(0ms, 80ms);
}

} // namespace tenure::faults
