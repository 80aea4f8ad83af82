// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/in_child.hpp"
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/inspection.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

TEST_CASE("a kept key is freed by withdrawing its value, and a key in quarantine likewise")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "lock"});
    std::optional<error_code> result;
    auto const free = [&](KeyState::Kind kind) {
        result.reset();
        test.store->async_free(
            {.range = lock.range(), .kind = kind, .owner = "w/1"}, [&](error_code error) { result = error; });
        test.runtime->run_ready();
    };
    free(KeyState::Kind::kept);
    REQUIRE(test.backend->withdrawals.size() == 1);
    auto const request = test.backend->answer(test.backend->withdrawals, backend::Released{});
    CHECK(request.owner == "kept/w/1");
    CHECK(request.notifications);
    CHECK(request.reuse_after == std::chrono::milliseconds{0});
    test.runtime->run_ready();
    CHECK(result == error_code());
    free(KeyState::Kind::resting);
    CHECK(test.backend->withdrawals.back().request.owner == "resting/w/1");
}

TEST_CASE("a held key is not freed without its holder: an eviction waits for the end of its validity")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "lock"});
    std::optional<error_code> result;
    test.store->async_free(
        {.range = lock.range(), .kind = KeyState::Kind::held, .owner = "w/1"},
        [&](error_code error) { result = error; });
    test.runtime->run_ready();
    CHECK(result == make_error_code(boost::system::errc::invalid_argument));
    CHECK(test.backend->withdrawals.empty());
}

TEST_CASE("a listing is sorted, has each key once, and at most as many as were asked for")
{
    ScriptedStore test;
    // capabilities are read once, when the store is opened
    auto const backend = std::make_shared<ScriptedBackend>(test.runtime);
    backend->no_list = nullptr;
    KeyList list;
    {
        Store const store(test.runtime, backend, StoreOptions{"worker", {}});
        store.async_list("a", 2, [&](error_code, KeyList const& keys) { list = keys; });
        test.runtime->run_ready();
        REQUIRE(backend->listings.size() == 1);
        CHECK(backend->answer(backend->listings, KeyList{{"ac", "aa", "ab", "aa"}}).prefix == "a");
        test.runtime->run_ready();
    }
    test.runtime->run_for(std::chrono::seconds{1});
    CHECK(list == KeyList{{"aa", "ab"}, true});
}

TEST_CASE("a store that cannot list its keys says why")
{
    ScriptedStore test;
    std::optional<error_code> result;
    test.store->async_list("", 2, [&](error_code error, KeyList const&) { result = error; });
    test.runtime->run_ready();
    CHECK(result == make_error_code(boost::system::errc::operation_not_supported));
    CHECK(test.store->diagnostics().last_detail == "the store cannot list its keys: the test gave no list");
}

TEST_CASE("queries in a child of fork end with that, also those that name no key")
{
    ScriptedStore test;
    check_in_child([&] {
        std::vector<error_code> errors;
        auto const add = [&](error_code error, auto const&...) { errors.push_back(error); };
        test.store->async_inspect(nullptr, add);
        test.store->async_evict({}, "test", add);
        test.store->async_free({}, add);
        test.store->async_free({.range = named_key("lock"), .kind = KeyState::Kind::kept, .owner = "w/1"}, add);
        test.runtime->run_ready();
        return errors.size() == 4 &&
               std::ranges::all_of(errors, [](error_code error) { return error == errc::forked; });
    });
}

} // namespace tenure::test
