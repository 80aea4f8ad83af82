// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <utility>

namespace tenure::test
{

/** The handler of an acquisition that must succeed: keeps what was granted. */
template <class Held>
auto keep_in(Held& held)
{
    return [&held](error_code error, Held granted) {
        REQUIRE_FALSE(error);
        held = std::move(granted);
    };
}

/** A store in virtual time that grants what its test acquires. */
struct GrantingStore : ScriptedStore {
    template <class Source, class Held>
    void acquire(Source const& source, Held& held)
    {
        source.async_acquire(AcquireOptions(), keep_in(held));
        runtime->run_ready();
        while (!backend->claims.empty())
            backend->answer(backend->claims, grant(std::chrono::hours{1}));
        runtime->run_ready();
        REQUIRE(held.valid());
    }
};

} // namespace tenure::test
