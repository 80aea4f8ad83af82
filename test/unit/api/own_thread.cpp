// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A store with a thread of its own: leases outlive a blocked io_context, and nothing outlives its owners.
#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "runtime/asio_runtime.hpp"
#include "store/memory/backend.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

StoreOptions own_thread()
{
    StoreOptions options;
    options.log = silent_log_sink();
    options.own_thread = true;
    return options;
}

/** The threads that belong to stores, by their kernel numbers. */
std::set<std::string> store_threads()
{
    std::set<std::string> found;
    for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::ifstream(task.path() / "comm") >> name;
        if (name == "tenure-store")
            found.insert(task.path().filename());
    }
    return found;
}

/** Threads of earlier tests may still be about to end. */
void require_no_store_threads()
{
    REQUIRE(eventually([] { return store_threads().empty(); }));
}

bool is_store_thread()
{
    std::array<char, 16> name{};
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    return std::string(name.data()) == "tenure-store";
}

/** A store that no test destroys, with a context that is run as it is asked. */
class Witness
{
public:
    explicit Witness(std::string const& url)
        : store_(open_store(context_, url, {.log = silent_log_sink()}))
    {
    }

    [[nodiscard]] Store const& store() const noexcept { return store_; }

    template <class Operation>
    auto run(Operation operation)
    {
        auto result = operation(asio::use_future);
        context_.restart();
        context_.run();
        return result.get();
    }

    [[nodiscard]] KeyState look(Lock const& lock)
    {
        return run([&](auto token) { return store_.async_inspect(lock.range(), token); }).front();
    }
    [[nodiscard]] bool is_free(Lock const& lock) { return look(lock).kind == KeyState::Kind::free; }

private:
    asio::io_context context_;
    Store store_;
};

Lease acquire(asio::io_context& context, Lock const& lock)
{
    auto result = lock.async_acquire(asio::use_future);
    context.restart();
    while (result.wait_for(0s) != std::future_status::ready)
        context.run_one();
    return result.get();
}

} // namespace

TEST_CASE("a lease is renewed while its user's io_context is blocked for longer than the ttl")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 400ms});
    std::optional<Lease> lease;
    std::optional<ReleaseOutcome> outcome;
    lock.async_acquire([&](error_code error, Lease granted) {
        REQUIRE_FALSE(error);
        CHECK_FALSE(is_store_thread());
        lease = std::move(granted);
        // the context has this thread alone
        std::this_thread::sleep_for(1500ms);
        CHECK(lease->valid());
        CHECK_FALSE(lease->token().cancelled());
        CHECK(lease->state() == LeaseState::held);
        lease->async_release([&](error_code, ReleaseOutcome result) { outcome = result; });
    });
    context.run();
    CHECK(outcome == ReleaseOutcome::released);
    CHECK(store.statistics().renewals >= 5);
}

TEST_CASE("an operation that ends while the io_context is stopped completes when it runs again, on its thread")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 5s});
    Lease lease;
    bool acquired = false;
    lock.async_acquire([&](error_code error, Lease granted) {
        CHECK_FALSE(error);
        CHECK_FALSE(is_store_thread());
        acquired = true;
        lease = std::move(granted);
    });
    REQUIRE(eventually([&] { return store.statistics().held == 1; }));
    CHECK_FALSE(acquired);
    context.run();
    REQUIRE(acquired);

    std::optional<ReleaseOutcome> outcome;
    lease.async_release([&](error_code, ReleaseOutcome result) {
        CHECK_FALSE(is_store_thread());
        outcome = result;
    });
    REQUIRE(eventually([&] { return store.statistics().released == 1; }));
    CHECK_FALSE(outcome);
    context.restart();
    context.run();
    CHECK(outcome == ReleaseOutcome::released);
}

TEST_CASE("a lease that is lost while the io_context stands still is known as lost at once")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{"own-thread-lost"}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 600ms});
    auto const lease = acquire(context, lock);
    auto const token = lease.token();
    bool told = false;
    token.async_wait([&](error_code error) {
        CHECK_FALSE(error);
        CHECK_FALSE(is_store_thread());
        told = true;
    });
    std::atomic<bool> stopped = false;
    std::stop_callback const callback(token.stop_token(), [&] {
        CHECK_FALSE(is_store_thread());
        stopped = true;
    });
    Witness witness("memory://own-thread-lost");
    auto const seen = witness.look(lock);
    witness.run([&](auto done) { return witness.store().async_evict(seen, "test", done); });
    REQUIRE(eventually([&] { return token.cancelled(); }));
    CHECK(token.reason() == CancelReason::not_owner);
    CHECK_FALSE(lease.valid());
    CHECK_FALSE(told);
    CHECK_FALSE(stopped);
    context.restart();
    context.run();
    CHECK(told);
    CHECK(stopped);
}

TEST_CASE("a handler whose executor calls it inline does not run on the store's thread")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 5s});
    auto const user = std::this_thread::get_id();
    std::thread::id runs_on;
    lock.async_acquire(
        asio::bind_executor(asio::any_io_executor(asio::system_executor()), [&](error_code, Lease const&) {
            runs_on = std::this_thread::get_id();
        }));
    auto const work = asio::make_work_guard(context);
    REQUIRE(eventually([&] {
        context.poll();
        return runs_on != std::thread::id();
    }));
    CHECK(runs_on == user);
}

TEST_CASE("each store that asks for one has a thread of its own, which takes no signals")
{
    asio::io_context context;
    require_no_store_threads();
    auto const first = open_store(context, MemoryConfig{}, own_thread());
    auto const second = open_store(context, MemoryConfig{}, own_thread());
    auto const none = open_store(context, MemoryConfig{}, {.log = silent_log_sink()});
    REQUIRE(eventually([&] { return store_threads().size() == 2; }));
    for (auto const& thread : store_threads()) {
        std::ifstream status("/proc/self/task/" + thread + "/status");
        std::string word;
        while (status >> word && word != "SigBlk:") {
        }
        status >> word;
        auto const blocked = std::stoull(word, nullptr, 16);
        for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM, SIGPIPE})
            CHECK((blocked >> static_cast<unsigned>(signal - 1) & 1U) == 1);
    }
}

TEST_CASE("a store with a thread of its own is no work of its user's io_context, and its operations are")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 500ms});
    auto const lease = acquire(context, lock);
    context.run();
    CHECK(context.stopped());
    // renewed by the store's thread alone
    REQUIRE(eventually([&] { return store.statistics().renewals >= 3; }));
    CHECK(lease.valid());
}

TEST_CASE("async_close leaves no thread, and what is asked for later is answered all the same")
{
    require_no_store_threads();
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 5s});
    auto lease = acquire(context, lock);
    auto closed = store.async_close(10s, asio::use_future);
    lease.async_release(asio::detached);
    context.restart();
    context.run();
    closed.get();
    CHECK(eventually([&] { return store_threads().empty(); }, 5s));

    std::optional<error_code> error;
    lock.async_acquire([&](error_code failure, Lease const&) { error = failure; });
    context.restart();
    context.run();
    CHECK(error == make_error_code(errc::closed));
    auto again = store.async_close(10s, asio::use_future);
    context.restart();
    context.run();
    again.get();
    CHECK(eventually([&] { return store_threads().empty(); }, 5s));
}

TEST_CASE("leases that are held when a store with a thread of its own is closed lose their tokens at the timeout")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 5s});
    auto const lease = acquire(context, lock);
    auto closed = store.async_close(50ms, asio::as_tuple(asio::use_future));
    context.restart();
    context.run();
    CHECK(std::get<0>(closed.get()) == make_error_code(errc::timed_out));
    CHECK(lease.token().reason() == CancelReason::store_closed);
}

TEST_CASE("an exception on the store's thread is logged, and the thread goes on")
{
    std::mutex mutex;
    std::vector<std::string> lines;
    auto const runtime = [&](asio::any_io_executor executor) {
        return make_asio_runtime(
            std::move(executor),
            [&](LogLevel, std::string_view line) {
                std::lock_guard const lock(mutex);
                lines.emplace_back(line);
            },
            LogLevel::warning, RunsOn::own_thread);
    };
    require_no_store_threads();
    {
        asio::io_context context;
        auto const made = runtime(context.get_executor());
        Store const store(made, memory::make_backend(made, ""), {});
        made->post([] { throw std::runtime_error("scripted"); });
        auto lease = acquire(context, Lock(store, {.key = "job", .ttl = 5s}));
        CHECK(lease.valid());
    }
    REQUIRE(eventually([&] { return store_threads().empty(); }));
    REQUIRE(lines.size() >= 1);
    CHECK(lines.front() == "memory://: the store's thread goes on after an exception: scripted");
}

namespace
{

/** The objects that a user has of a store, to be destroyed in any order. */
struct Belongings {
    std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>();
    std::optional<Store> store;
    std::optional<Lock> lock;
    std::optional<Lease> lease;
    std::optional<CancellationToken> token;

    void destroy(int which)
    {
        switch (which) {
        case 0:
            context.reset();
            break;
        case 1:
            store.reset();
            break;
        case 2:
            lock.reset();
            break;
        case 3:
            lease.reset();
            break;
        default:
            token.reset();
        }
    }
};

enum class Pending { nothing, waits, ready };

/** Opens a store, holds a lease, begins what is to be pending, and destroys all in that order. */
void play(std::array<int, 5> const& order, bool on_strand, Pending pending, std::string const& name)
{
    Belongings one;
    one.store = open_store(
        on_strand ? asio::any_io_executor(asio::make_strand(*one.context))
                  : asio::any_io_executor(one.context->get_executor()),
        MemoryConfig{name}, own_thread());
    one.lock.emplace(*one.store, LockConfig{.key = "job", .ttl = 20s});
    one.lease = acquire(*one.context, *one.lock);
    one.token = one.lease->token();
    auto const never = [](auto&&...) { FAIL("called, although nobody runs the context"); };
    if (pending != Pending::nothing) {
        // waits for the lease of the first one, for its token, for a risk, and for the end
        one.lock->async_acquire(never);
        one.token->async_wait(never);
        one.lease->async_wait_at_risk(never);
        one.store->async_inspect(one.lock->range(), never);
    }
    if (pending == Pending::ready) {
        one.lease->async_renew(never);
        one.lease->async_release(never);
        one.lease->async_release(never);
        one.store->async_close(10s, never);
    }
    for (auto const which : order)
        one.destroy(which);
}

} // namespace

TEST_CASE("io_context, store, lock, lease and token are destroyed in any order, whatever is pending")
{
    require_no_store_threads();
    std::array<int, 5> order{0, 1, 2, 3, 4};
    int round = 0;
    do
        for (bool const on_strand : {false, true})
            for (auto const pending : {Pending::nothing, Pending::waits, Pending::ready})
                play(order, on_strand, pending, "own-thread-order-" + std::to_string(round++));
    while (std::ranges::next_permutation(order).found);
    CHECK(round == 720);
    CHECK(eventually([&] { return store_threads().empty(); }));
}

TEST_CASE("a lease whose release began before the io_context is destroyed is released afterwards")
{
    Witness witness("memory://own-thread-late");
    std::string const key = "job";
    bool dropped = false;
    {
        asio::io_context context;
        auto const store = open_store(context, MemoryConfig{"own-thread-late"}, own_thread());
        Lock const lock(store, {.key = key, .ttl = 20s});
        auto lease = acquire(context, lock);
        // a handler that goes with the context
        auto const seen = std::shared_ptr<void>(nullptr, [&](void*) { dropped = true; });
        lease.async_release([seen](error_code, ReleaseOutcome) { FAIL("called"); });
    }
    CHECK(dropped);
    Lock const lock(witness.store(), {.key = key, .ttl = 20s});
    CHECK(eventually([&] { return witness.is_free(lock); }, 2s));
}

namespace
{

/** Destroyed with the frame of a coroutine. */
struct Frame : Immovable {
    std::atomic<int>& frames;
    std::atomic<bool>& elsewhere;
    std::thread::id made_on = std::this_thread::get_id();

    Frame(std::atomic<int>& count, std::atomic<bool>& other)
        : frames(count)
        , elsewhere(other)
    {
        ++frames;
    }
    ~Frame()
    {
        --frames;
        if (std::this_thread::get_id() != made_on)
            elsewhere = true;
    }
};

asio::awaitable<void> hold_and_wait(Store store, std::atomic<int>& frames, std::atomic<bool>& elsewhere)
{
    Frame const frame(frames, elsewhere);
    Lock const lock(store, {.key = "job", .ttl = 5s});
    auto const lease = co_await lock.async_acquire(forever, asio::use_awaitable);
    co_await lease.token().async_wait(asio::use_awaitable);
}

} // namespace

TEST_CASE("coroutines that wait for a store with a thread of its own go with their io_context, on its thread")
{
    require_no_store_threads();
    std::atomic<int> frames = 0;
    std::atomic<bool> elsewhere = false;
    for (int round = 0; round < 20; ++round) {
        asio::io_context context;
        {
            auto const store = open_store(context, MemoryConfig{}, own_thread());
            for (int i = 0; i < 3; ++i)
                asio::co_spawn(context, hold_and_wait(store, frames, elsewhere), asio::detached);
        }
        while (frames < 3)
            context.run_one();
        context.run_for(std::chrono::milliseconds{round});
        CHECK(frames == 3);
    }
    CHECK(frames == 0);
    CHECK_FALSE(elsewhere);
    CHECK(eventually([&] { return store_threads().empty(); }));
}

TEST_CASE("an io_context that a log sink owns is destroyed on the store's thread without harm")
{
    auto context = std::make_shared<asio::io_context>();
    std::weak_ptr<asio::io_context> const observed = context;
    {
        StoreOptions options;
        options.own_thread = true;
        options.log = [context](LogLevel, std::string_view) {};
        auto const store = open_store(*context, MemoryConfig{}, std::move(options));
        auto lease = acquire(*context, Lock(store, {.key = "job", .ttl = 5s}));
        CHECK(lease.valid());
    }
    context.reset();
    CHECK(eventually([&] { return observed.expired(); }));
}

TEST_CASE("a fork leaves the store's thread to the parent, and the child ends whatever that thread was at")
{
    asio::io_context context;
    auto const name = std::string("own-thread-fork");
    auto const store = open_store(context, MemoryConfig{name}, own_thread());
    Lock const lock(store, {.key = "job", .ttl = 5s});
    auto lease = acquire(context, lock);
    context.restart();
    // keeps the thread busy, and its mutexes taken now and then
    std::function<void()> again = [&] {
        if (!context.stopped())
            store.async_inspect(lock.range(), [&](error_code, std::vector<KeyState> const&) { again(); });
    };
    for (int i = 0; i < 4; ++i)
        again();
    for (int round = 0; round < 50; ++round) {
        context.run_for(1ms);
        auto const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::alarm(20);
            std::optional<error_code> acquired;
            std::optional<error_code> released;
            bool wrong = lease.valid() || lease.token().stop_token().stop_possible();
            static_cast<void>(store.diagnostics());
            context.notify_fork(asio::io_context::fork_child);
            lock.async_acquire([&](error_code error, Lease const&) { acquired = error; });
            lease.async_release([&](error_code error, ReleaseOutcome) { released = error; });
            while (!acquired || !released)
                context.poll_one();
            wrong = wrong || acquired != make_error_code(errc::forked) || released != make_error_code(errc::forked);
            {
                // a store of its own
                asio::io_context other;
                auto const own = open_store(other, MemoryConfig{name}, {.log = silent_log_sink()});
                auto const mine = acquire(other, Lock(own, {.key = "job", .ttl = 5s}));
                wrong = wrong || !mine.valid();
            }
            lease = Lease();
            ::_exit(wrong ? 1 : 0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        REQUIRE(WEXITSTATUS(status) == 0);
    }
    CHECK(lease.valid());
    CHECK_FALSE(lease.token().cancelled());
    context.stop();
}

} // namespace tenure::test
