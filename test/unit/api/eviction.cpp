// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/inspection.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>

namespace tenure::test
{

namespace
{

/** The error of an eviction that finds another value under the key. */
error_code evict(ScriptedStore& test, std::string const& owner)
{
    Lock const lock(*test.store, {.key = "lock"});
    error_code result;
    test.store->async_evict(
        {.range = lock.range(), .owner = owner}, "test",
        [&](error_code error, std::chrono::milliseconds) { result = error; });
    test.runtime->run_ready();
    return result;
}

} // namespace

TEST_CASE("an eviction of another holder's lease tells that the owner has changed")
{
    ScriptedStore test;
    CHECK(evict(test, std::string(KeyState::longest_owner - 1, 'x')) == make_error_code(errc::lease_lost));
}

TEST_CASE("an eviction by the beginning of a longer value tells that another program wrote it")
{
    ScriptedStore test;
    CHECK(evict(test, std::string(KeyState::longest_owner, 'x')) == make_error_code(errc::key_conflict));
    CHECK(
        test.store->diagnostics().last_detail == "lock: its value is too long for a lease, so another program wrote "
                                                 "it; delete it by hand if no program uses it");
}

} // namespace tenure::test
