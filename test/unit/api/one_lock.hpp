// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

namespace tenure::test
{

/** One lock over a scripted store, and its holder. */
struct OneLock : ScriptedStore {
    explicit OneLock(std::chrono::milliseconds lease_ttl = std::chrono::seconds{3})
        : ttl(lease_ttl)
    {
    }

    void hold()
    {
        acquire_at_once(holder, lock, ttl);
        REQUIRE(holder.holding.valid());
    }
    /** Lets time pass, and renews. */
    void pass(std::chrono::milliseconds time)
    {
        ScriptedStore::pass(time, backend->renewals, [this] { return Renewed{ttl, runtime->now()}; });
    }

    std::chrono::milliseconds ttl;
    Lock lock{*store, {.key = "job", .ttl = ttl}};
    Attempt<Lease> holder;
};

} // namespace tenure::test
