// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How a View ends: with its last user, with its store, with its context, and in a fork.
#include "unit/in_child.hpp"
#include "unit/locks/view_fixture.hpp"

#include <tenure/lock.hpp>
#include <tenure/log.hpp>
#include <tenure/stores/memory.hpp>

#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

TEST_CASE("the reading ends with the last copy of a View")
{
    Viewing test;
    test.answer(KeyState{});
    std::optional<View> copy(*test.view);
    test.view.reset();
    test.runtime->run_for(1s);
    test.answer(held_key("a"));
    CHECK(copy->snapshot().keys.front().owner == "a");
    copy.reset();
    test.runtime->run_ready();
    CHECK(test.backend->watching == 0);
    CHECK(test.runtime->timers() == 0);
    test.runtime->run_for(10s);
    CHECK(test.reads() == 0);
}

TEST_CASE("a View that goes while a read waits to be written takes it out of its queue")
{
    Viewing test;
    REQUIRE(test.reads() == 1);
    test.view.reset();
    test.runtime->run_ready();
    CHECK(test.backend->drops == 1);
    test.answer(KeyState{});
    CHECK(test.runtime->timers() == 0);
}

TEST_CASE("a wait for a change outlives the View, and ends the reading with itself")
{
    Viewing test;
    auto const& change = test.wait(0);
    test.view.reset();
    test.runtime->run_ready();
    CHECK(test.backend->watching == 1);
    test.answer(held_key("a"));
    CHECK(change.view.keys.front().owner == "a");
    test.runtime->run_ready();
    CHECK(test.backend->watching == 0);
    CHECK(test.runtime->timers() == 0);
}

TEST_CASE("the last wait may end the reading by becoming stale")
{
    Viewing test;
    test.answer(held_key("a"));
    auto const& change = test.wait(1);
    test.view.reset();
    test.runtime->skip(5s);
    test.runtime->run_for(10ms);
    CHECK(change.view.stale);
    CHECK(test.backend->watching == 0);
    CHECK(test.runtime->timers() == 0);
}

TEST_CASE("a View keeps its store open, and does not outlive it")
{
    Viewing test;
    test.answer(KeyState{});
    test.store.reset();
    test.runtime->run_for(1s);
    test.answer(held_key("a"));
    CHECK(test.backend->shutdowns == 0);
    test.view.reset();
    test.runtime->run_ready();
    CHECK(test.backend->shutdowns == 1);
}

TEST_CASE("a store that is closed ends its Views, which go on telling what they knew")
{
    Viewing test;
    test.answer(held_key("a"));
    auto const& waiting = test.wait(1);
    std::optional<error_code> closed;
    test.store->async_close(10s, [&](error_code error) { closed = error; });
    test.runtime->run_ready();
    CHECK(waiting.error == make_error_code(errc::closed));
    CHECK(closed == error_code());
    CHECK(test.backend->watching == 0);
    CHECK(test.runtime->timers() == 0);
    CHECK(test.wait(0).error == make_error_code(errc::closed));
    test.runtime->run_for(5s);
    auto const known = test.view->snapshot();
    CHECK(known.keys.front().owner == "a");
    CHECK(known.age == 5s);
    CHECK(known.stale);
}

TEST_CASE("a View ends when the closing begins, while leases are still held")
{
    Viewing test;
    Attempt<Lease> holder;
    Lock const lock(*test.store, {.key = "job", .ttl = 3s});
    holder.start(lock);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, test.grant(3s));
    auto const& waiting = test.wait(0);
    test.store->async_close(1s, [](error_code) {});
    test.runtime->run_ready();
    CHECK(holder.holding.valid());
    CHECK(waiting.error == make_error_code(errc::closed));
    test.runtime->run_for(2s);
}

TEST_CASE("a View of a closed store knows nothing, and says that it is closed")
{
    Viewing test;
    test.store->async_close(1s, [](error_code) {});
    test.runtime->run_ready();
    test.view.emplace(*test.store, named_key("job"));
    test.runtime->run_ready();
    CHECK(test.wait(0).error == make_error_code(errc::closed));
    CHECK_FALSE(test.view->snapshot().age);
}

TEST_CASE("the end of the context drops the waits, also one that owns the View")
{
    Viewing test;
    test.answer(KeyState{});
    auto const counted = std::make_shared<int>(0);
    auto owned = std::make_shared<View>(*test.view);
    bool called = false;
    owned->async_changed(1, [owned, counted, &called](error_code, ViewSnapshot const&) { called = true; });
    std::weak_ptr const watched = owned;
    test.view.reset();
    owned.reset();
    test.runtime->run_ready();
    CHECK_FALSE(watched.expired());
    CHECK(counted.use_count() == 2);
    test.runtime->end_context();
    CHECK(watched.expired());
    CHECK(counted.use_count() == 1);
    CHECK_FALSE(called);
}

TEST_CASE("a child of fork has no View, and leaves the parent's alone")
{
    Viewing test;
    test.answer(held_key("a"));
    auto& waiting = test.wait(1);
    check_in_child([&] {
        auto const known = test.view->snapshot();
        bool right = !known.age && known.keys.empty() && known.version == 0;
        right = right && test.wait(0).error == errc::forked;
        View const made_here(*test.store, named_key("job"));
        right = right && !made_here.snapshot().age;
        std::optional<error_code> error;
        made_here.async_changed(0, [&](error_code why, ViewSnapshot const&) { error = why; });
        test.runtime->run_ready();
        right = right && error == errc::forked;
        waiting.cancel.emit(asio::cancellation_type::terminal);
        test.view.reset();
        return right;
    });
    CHECK_FALSE(waiting.error);
    CHECK(test.backend->watching == 1);
}

TEST_CASE("handlers of a View run on the store's executor, also with a thread of the store's own")
{
    asio::io_context context;
    StoreOptions options;
    options.log = silent_log_sink();
    options.own_thread = true;
    auto const store = open_store(context.get_executor(), MemoryConfig{}, std::move(options));
    Lock const lock(store, {.key = "job", .ttl = 3s});
    View const view(lock, {.refresh = 100ms});
    std::vector<KeyState::Kind> seen;
    std::vector<std::thread::id> threads;
    Lease lease;
    struct Follow {
        View const& view;
        std::vector<KeyState::Kind>& seen;
        std::vector<std::thread::id>& threads;
        void next(std::uint64_t version) const
        {
            view.async_changed(version, [this](error_code error, ViewSnapshot const& now) {
                if (error)
                    return;
                threads.push_back(std::this_thread::get_id());
                seen.push_back(now.keys.front().kind);
                next(now.version);
            });
        }
    };
    Follow const follow{view, seen, threads};
    follow.next(0);
    auto const run_until = [&](std::size_t changes) {
        auto const end = std::chrono::steady_clock::now() + 20s;
        context.restart();
        while (seen.size() < changes && std::chrono::steady_clock::now() < end)
            context.run_one_for(100ms);
        REQUIRE(seen.size() == changes);
    };
    run_until(1);
    lock.async_acquire([&](error_code, Lease granted) { lease = std::move(granted); });
    run_until(2);
    lease = {};
    run_until(3);
    using Kind = KeyState::Kind;
    CHECK(seen == std::vector{Kind::free, Kind::held, Kind::free});
    CHECK(threads == std::vector(3, std::this_thread::get_id()));
    store.async_close(1s, [](error_code) {});
    context.restart();
    context.run();
}

} // namespace tenure::test
