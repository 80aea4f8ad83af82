// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

namespace tenure::test
{

/** A pool of four slots, whose store has the worker name "w1". */
struct JobPool : ScriptedStore {
    explicit JobPool(StoreOptions options)
    {
        options.worker_name = "w1";
        store.emplace(runtime, backend, std::move(options));
        runtime->run_ready();
        pool.emplace(
            *store, SlotPoolConfig{.prefix = "job:", .size = 4, .ttl = std::chrono::seconds{3}, .note = "rack 7"});
    }

    /** Gets slot 2, after 40 ms. */
    void acquire(Attempt<Slot>& attempt)
    {
        attempt.start(*pool);
        runtime->run_ready();
        runtime->run_for(std::chrono::milliseconds{40});
        grant_claim(std::chrono::seconds{3}, 2);
        REQUIRE(attempt.error == error_code());
    }

    std::optional<SlotPool> pool;
};

} // namespace tenure::test
