// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <utility>

namespace tenure::test
{

/** The first claim stays unanswered; the second one, which is sent beside it, is granted slot 1.
 *  @returns the first claim */
[[nodiscard]] inline auto acquire_at_the_second_try(ScriptedStore& test, Attempt<Slot>& attempt, SlotPool const& pool)
{
    attempt.start(pool);
    test.runtime->run_for(1100ms);
    REQUIRE(test.backend->claims.size() == 2);
    auto late = std::move(test.backend->claims.front());
    test.backend->claims.pop_front();
    test.backend->answer(test.backend->claims, test.grant(3s, 1));
    test.runtime->run_ready();
    REQUIRE(attempt.error == error_code());
    return late;
}

} // namespace tenure::test
