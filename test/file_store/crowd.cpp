// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Fair locks, read-write locks and semaphores of several processes that are killed and stopped, holders and waiters
// alike: never over capacity, and tokens in order.
#include "forked.hpp"
#include "harness/auditor.hpp"
#include "harness/scratch_directory.hpp"

#include <tenure/lock.hpp>
#include <tenure/open_store.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/semaphore.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

constexpr std::uint32_t permits = 4;

/** One time that a share was held. */
struct Grant {
    std::uint32_t key = 0;
    Share share;
    std::uint64_t token = 0;
    std::int64_t begin = 0;
    /// the last instant at which the lease was valid, as the holder itself has seen
    std::int64_t end = 0;
};

/** What all processes write and the test reads. */
struct Log {
    static constexpr std::size_t size = 1U << 20U;
    std::atomic<std::size_t> count = 0;
    std::array<Grant, size> grants{};

    [[nodiscard]] static Log* make()
    {
        void* const memory =
            ::mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        return static_cast<Log*>(memory); // zeros are a log
    }
};

/** One process: it takes a share of each of the three keys, again and again. */
class Worker
{
public:
    Worker(std::string const& directory, Log& log)
        : store_(open_store(context_, "file://" + directory))
        , log_(log)
    {
    }

    void run()
    {
        for (std::uint32_t key = 0; key < 3; ++key)
            for (int waiters = 0; waiters < 2; ++waiters)
                asio::co_spawn(context_, work(key), asio::detached);
        context_.run();
    }

private:
    [[nodiscard]] std::chrono::milliseconds up_to(int most)
    {
        return std::chrono::milliseconds{std::uniform_int_distribution(0, most)(random_)};
    }
    asio::awaitable<void> pause(std::chrono::microseconds time)
    {
        asio::steady_timer timer(context_, time);
        co_await timer.async_wait(asio::use_awaitable);
    }
    asio::awaitable<void> work(std::uint32_t key)
    {
        constexpr auto ttl = 400ms;
        Lock const fair(store_, {.key = "fair", .ttl = ttl, .fair = true});
        ReadWriteLock const both(store_, {.key = "both", .ttl = ttl});
        Semaphore const amounts(store_, {.key = "amounts", .permits = permits, .ttl = ttl});
        for (;;) {
            bool const writes = random_() % 3 == 0;
            Grant grant{key, {}, 0, 0, 0};
            AcquireOptions options{.wait = random_() % 4 == 0 ? up_to(60) : 3s};
            if (key == 0) {
                co_await turn(fair, options, grant);
            } else if (key == 1) {
                grant.share = {writes ? Share::all : 1, Share::all};
                co_await turn(writes ? both.write_lock() : both.read_lock(), options, grant);
            } else {
                options.permits = static_cast<std::uint32_t>(1 + random_() % permits);
                grant.share = {options.permits, permits};
                co_await turn(amounts, options, grant);
            }
        }
    }
    template <class Source>
    asio::awaitable<void> turn(Source const& source, AcquireOptions options, Grant grant)
    {
        boost::system::error_code error;
        auto lease = co_await source.async_acquire(options, asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            co_await pause(1ms);
            co_return;
        }
        grant.token = lease.fencing_token();
        co_await hold(lease, grant);
        co_await lease.async_release(asio::redirect_error(asio::use_awaitable, error));
    }
    asio::awaitable<void> hold(Lease& lease, Grant const& grant)
    {
        auto const entry = log_.count++ % Log::size;
        auto const until = std::chrono::steady_clock::now() + (random_() % 8 == 0 ? up_to(700) : up_to(8));
        bool begun = false;
        do {
            auto const now = boottime_ns();
            if (!lease.valid())
                break;
            if (!std::exchange(begun, true)) {
                log_.grants[entry] = grant;
                log_.grants[entry].begin = now;
            }
            log_.grants[entry].end = now;
            co_await pause(500us);
        } while (std::chrono::steady_clock::now() < until);
    }

    asio::io_context context_;
    Store store_;
    Log& log_;
    std::mt19937_64 random_{static_cast<std::uint64_t>(::getpid())};
};

struct Findings {
    std::size_t over_capacity = 0;
    std::size_t out_of_order = 0;
    std::array<std::size_t, 3> grants{};
};

/** Looks at each grant and at those that held at its beginning. */
Findings judge(std::vector<Grant> grants)
{
    Findings found;
    std::ranges::sort(grants, {}, &Grant::begin);
    std::array<std::vector<Grant>, 3> holding;
    std::array<std::uint64_t, 3> last_exclusive{};
    std::array<std::uint64_t, 3> last{};
    for (auto const& grant : grants) {
        auto& others = holding[grant.key];
        ++found.grants[grant.key];
        std::erase_if(others, [&](Grant const& other) { return other.end < grant.begin; });
        others.push_back(grant);
        std::uint64_t sum = 0;
        for (auto const& other : others)
            sum += other.share.weight;
        found.over_capacity += sum > grant.share.capacity ? 1U : 0U;
        // what excludes all others is later than all before it, and all after it are later
        bool const exclusive = grant.share.exclusive();
        auto const before = exclusive ? last[grant.key] : last_exclusive[grant.key];
        found.out_of_order += grant.token <= before ? 1U : 0U;
        last[grant.key] = std::max(last[grant.key], grant.token);
        if (exclusive)
            last_exclusive[grant.key] = grant.token;
    }
    return found;
}

Findings run_crowd(std::chrono::seconds duration)
{
    constexpr std::size_t process_count = 6;
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto* const log = Log::make();
    std::mt19937_64 random{Catch::getSeed()};
    std::array<std::unique_ptr<Forked>, process_count> processes;
    auto const start = [&](std::size_t number) {
        processes[number] = std::make_unique<Forked>(directory.path(), [&](conformance::Client&) -> std::int64_t {
            Worker(directory.path(), *log).run();
            return 0;
        });
    };
    for (std::size_t number = 0; number < process_count; ++number)
        start(number);
    int kills = 0;
    int stops = 0;
    auto const end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100 + random() % 300});
        auto const number = random() % process_count;
        if (random() % 2 == 0) {
            start(number); // the end of the former one kills it
            ++kills;
        } else {
            ::kill(processes[number]->pid(), SIGSTOP);
            std::this_thread::sleep_for(std::chrono::milliseconds{random() % 900});
            processes[number]->resume();
            ++stops;
        }
    }
    for (auto& process : processes)
        process.reset();
    std::vector<Grant> grants;
    for (auto const& grant : std::span(log->grants).first(std::min<std::size_t>(log->count, Log::size)))
        if (grant.begin != 0)
            grants.push_back(grant);
    ::munmap(log, sizeof(Log));
    auto const found = judge(std::move(grants));
    WARN(
        "grants: fair lock " << found.grants[0] << ", read-write lock " << found.grants[1] << ", semaphore "
                             << found.grants[2] << "; " << kills << " kills, " << stops << " stops");
    return found;
}

} // namespace

TEST_CASE("places of processes that are killed and stopped are never over capacity", "[crowd][places]")
{
    INFO("seed " << Catch::getSeed());
    char const* const minutes = std::getenv("TENURE_CROWD_MINUTES");
    auto const found = run_crowd(minutes != nullptr ? std::chrono::minutes{std::atoi(minutes)} : 6s);
    CHECK(found.over_capacity == 0);
    CHECK(found.out_of_order == 0);
    for (auto const count : found.grants)
        CHECK(count > 20);
}

} // namespace tenure::test
