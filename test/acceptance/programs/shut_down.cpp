// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A service that is told to stop while its store is unavailable. Usage:
//
//     shut_down URL TTL_MS OPERATION...
//
// Each operation runs in a loop of its own and has the only handle to its store. With `hold` as the first operation the
// store works in the beginning: the program writes "ready" when all operations have their leases or wait for one, and
// SIGUSR1 tells it that the store has become unavailable. SIGTERM tells it to stop. For each operation it writes how
// many milliseconds later the loop's run() returned, for how many of them the machine kept the program from running,
// and how the operation ended.
#include "harness/immovable.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace
{

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto longest_wait = 12s;

/** The objects that an operation runs on. */
struct Stage {
    explicit Stage(asio::io_context& context)
        : outage(context, asio::steady_timer::time_point::max())
        , never(context, asio::steady_timer::time_point::max())
    {
    }
    /// ends when the store has become unavailable
    asio::steady_timer outage;
    asio::steady_timer never;
    std::promise<void> ready;
};

tenure::AcquireOptions forever()
{
    tenure::AcquireOptions options;
    options.wait = milliseconds::max();
    return options;
}

tenure::Lock lock_of(tenure::Store store, std::string key, milliseconds ttl)
{
    tenure::LockConfig config;
    config.key = std::move(key);
    config.ttl = ttl;
    return tenure::Lock(std::move(store), std::move(config));
}

tenure::SlotPool pool_of(tenure::Store store, std::string prefix, milliseconds ttl)
{
    tenure::SlotPoolConfig config;
    config.prefix = std::move(prefix);
    config.size = 1;
    config.ttl = ttl;
    return tenure::SlotPool(std::move(store), std::move(config));
}

asio::awaitable<void> until_cancelled(Stage& stage)
{
    co_await stage.never.async_wait(asio::use_awaitable);
}

asio::awaitable<void> until_outage(Stage& stage)
{
    stage.ready.set_value();
    boost::system::error_code ended;
    co_await stage.outage.async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

/** After an operation that is repeated. */
asio::awaitable<void> go_on_unless_cancelled(boost::system::error_code failed)
{
    if (failed == asio::error::operation_aborted)
        throw boost::system::system_error(failed);
    asio::steady_timer pause(co_await asio::this_coro::executor, 10ms);
    co_await pause.async_wait(asio::use_awaitable);
}

asio::awaitable<void> wait_for_lock(tenure::Store store, milliseconds ttl)
{
    auto const lock = lock_of(std::move(store), "shut-down-lock", ttl);
    auto const lease = co_await lock.async_acquire(forever(), asio::use_awaitable);
}

asio::awaitable<void> wait_for_slot(tenure::Store store, milliseconds ttl)
{
    auto const pool = pool_of(std::move(store), "shut-down-pool:", ttl);
    auto const slot = co_await pool.async_acquire(forever(), asio::use_awaitable);
}

asio::awaitable<void> run_in_pool(tenure::Store store, milliseconds ttl, Stage& stage)
{
    auto const pool = pool_of(std::move(store), "shut-down-run:", ttl);
    auto body = [&stage](tenure::Slot&) { return until_cancelled(stage); };
    co_await async_run(pool, std::move(body), asio::use_awaitable);
}

asio::awaitable<void> work_under_lease(tenure::Store store, milliseconds ttl, Stage& stage)
{
    auto const lock = lock_of(std::move(store), "shut-down-work", ttl);
    auto lease = co_await lock.async_acquire(forever(), asio::use_awaitable);
    stage.ready.set_value();
    auto body = [&stage](tenure::Lease&) { return until_cancelled(stage); };
    co_await tenure::async_with_lease(std::move(lease), std::move(body), asio::use_awaitable);
}

asio::awaitable<void> release(tenure::Store store, milliseconds ttl, Stage& stage)
{
    auto const lock = lock_of(std::move(store), "shut-down-release", ttl);
    auto lease = co_await lock.async_acquire(forever(), asio::use_awaitable);
    co_await until_outage(stage);
    co_await lease.async_release(asio::use_awaitable);
}

asio::awaitable<void> renew(tenure::Store store, milliseconds ttl, Stage& stage)
{
    auto const lock = lock_of(std::move(store), "shut-down-renew", ttl);
    auto lease = co_await lock.async_acquire(forever(), asio::use_awaitable);
    co_await until_outage(stage);
    for (;;) {
        boost::system::error_code failed;
        co_await lease.async_renew(asio::redirect_error(asio::use_awaitable, failed));
        co_await go_on_unless_cancelled(failed);
    }
}

asio::awaitable<void> inspect(tenure::Store store, milliseconds ttl, Stage& stage)
{
    auto const pool = pool_of(store, "shut-down-inspect:", ttl);
    co_await until_outage(stage);
    for (;;) {
        boost::system::error_code failed;
        co_await store.async_inspect(pool.range(), asio::redirect_error(asio::use_awaitable, failed));
        co_await go_on_unless_cancelled(failed);
    }
}

/** Holds what the waiting operations wait for. */
asio::awaitable<void> hold(tenure::Store store, milliseconds ttl, Stage& stage)
{
    auto const lock = lock_of(store, "shut-down-lock", ttl);
    auto const pool = pool_of(store, "shut-down-pool:", ttl);
    auto const run = pool_of(std::move(store), "shut-down-run:", ttl);
    auto const lease = co_await lock.async_acquire(forever(), asio::use_awaitable);
    auto const slot = co_await pool.async_acquire(forever(), asio::use_awaitable);
    auto const run_slot = co_await run.async_acquire(forever(), asio::use_awaitable);
    stage.ready.set_value();
    co_await until_cancelled(stage);
}

asio::awaitable<void> operation(std::string const& name, tenure::Store store, milliseconds ttl, Stage& stage)
{
    if (name == "lock")
        return wait_for_lock(std::move(store), ttl);
    if (name == "pool")
        return wait_for_slot(std::move(store), ttl);
    if (name == "async_run")
        return run_in_pool(std::move(store), ttl, stage);
    if (name == "async_with_lease")
        return work_under_lease(std::move(store), ttl, stage);
    if (name == "release")
        return release(std::move(store), ttl, stage);
    if (name == "renew")
        return renew(std::move(store), ttl, stage);
    if (name == "inspect")
        return inspect(std::move(store), ttl, stage);
    if (name == "hold")
        return hold(std::move(store), ttl, stage);
    throw std::runtime_error("no operation is called '" + name + "'");
}

std::string in_words(std::exception_ptr const& failure)
{
    if (!failure)
        return "done";
    try {
        std::rethrow_exception(failure);
    } catch (std::exception const& error) {
        return error.what();
    }
}

/** Measures for how long the machine kept this process from running. */
class Stalls : tenure::test::Immovable
{
public:
    using Time = std::chrono::steady_clock::time_point;

    Stalls()
        : thread_([this] {
            while (!over_) {
                auto const before = std::chrono::steady_clock::now();
                std::this_thread::sleep_for(step);
                auto const after = std::chrono::steady_clock::now();
                std::lock_guard const lock(mutex_);
                stalls_.emplace_back(after, after - before - step);
            }
        })
    {
    }
    ~Stalls()
    {
        over_ = true;
        thread_.join();
    }

    /** All that began before `end`. */
    [[nodiscard]] milliseconds until(Time end)
    {
        std::lock_guard const lock(mutex_);
        std::chrono::steady_clock::duration total{};
        for (auto const& [when, length] : stalls_)
            if (when - length <= end)
                total += length;
        return std::chrono::duration_cast<milliseconds>(total);
    }

private:
    static constexpr auto step = 5ms;
    std::mutex mutex_;
    /// when each ended, and its length
    std::vector<std::pair<Time, std::chrono::steady_clock::duration>> stalls_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

class Service : tenure::test::Immovable
{
public:
    Service(std::string name, std::string const& url, milliseconds ttl)
        : name_(std::move(name))
    {
        tenure::StoreOptions options;
        options.log = [name = name_](tenure::LogLevel level, std::string_view line) {
            if (std::getenv("SHUT_DOWN_LOG") != nullptr)
                std::clog << (name + ": " + std::string(to_string(level)) + " " + std::string(line) + "\n");
        };
        auto store = tenure::open_store(context_.get_executor(), url, std::move(options));
        statistics_ = store;
        asio::co_spawn(
            context_, operation(name_, std::move(store), ttl, stage_),
            asio::bind_cancellation_slot(
                signal_.slot(), [this](std::exception_ptr failure) { result_ = in_words(failure); }));
    }
    ~Service() { thread_.join(); }

    [[nodiscard]] std::string const& name() const noexcept { return name_; }

    void start()
    {
        ended_ = done_.get_future();
        thread_ = std::thread([this] {
            context_.run();
            done_.set_value(std::chrono::steady_clock::now());
        });
    }

    /** Until it has its lease, or waits for one. */
    [[nodiscard]] bool wait_until_ready()
    {
        bool const waits = name_ == "lock" || name_ == "pool" || name_ == "async_run";
        auto ready = stage_.ready.get_future();
        auto const limit = std::chrono::steady_clock::now() + 30s;
        while (std::chrono::steady_clock::now() < limit) {
            if (ready.wait_for(5ms) == std::future_status::ready)
                return true;
            if (waits && statistics_->statistics().waiting > 0)
                return true;
        }
        return false;
    }

    void outage()
    {
        statistics_.reset();
        asio::post(context_, [this] { stage_.outage.cancel(); });
    }

    void stop()
    {
        statistics_.reset();
        asio::post(context_, [this] { signal_.emit(asio::cancellation_type::terminal); });
    }

    /** @returns false if the loop still runs long afterwards */
    [[nodiscard]] bool report(std::chrono::steady_clock::time_point stopped, Stalls& stalls)
    {
        if (ended_.wait_until(stopped + longest_wait) != std::future_status::ready) {
            std::cout << name_ << " " << milliseconds(longest_wait).count() << " 0 still running" << std::endl;
            return false;
        }
        auto const ended = ended_.get();
        auto const took = std::chrono::duration_cast<milliseconds>(ended - stopped);
        std::cout << name_ << " " << std::max<std::int64_t>(took.count(), 0) << " " << stalls.until(ended).count()
                  << " " << result_ << std::endl;
        return true;
    }

private:
    std::string name_;
    asio::io_context context_{1};
    /// until the outage, to see whether the operation waits
    std::optional<tenure::Store> statistics_;
    Stage stage_{context_};
    asio::cancellation_signal signal_;
    std::string result_;
    std::promise<std::chrono::steady_clock::time_point> done_;
    std::future<std::chrono::steady_clock::time_point> ended_;
    std::thread thread_;
};

sigset_t signals_of(std::initializer_list<int> numbers)
{
    sigset_t set;
    sigemptyset(&set);
    for (auto const number : numbers)
        sigaddset(&set, number);
    return set;
}

void wait_for(int number)
{
    auto const set = signals_of({number});
    int came = 0;
    if (sigwait(&set, &came) != 0)
        throw std::runtime_error("cannot wait for a signal");
}

} // namespace

int main(int count, char** arguments)
try {
    // threads inherit it
    auto const signals = signals_of({SIGUSR1, SIGTERM});
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::vector<std::string> const given(arguments + 1, arguments + count);
    if (given.size() < 3)
        throw std::runtime_error("usage: shut_down URL TTL_MS OPERATION...");
    auto const ttl = milliseconds(std::stoi(given[1]));
    std::vector<std::unique_ptr<Service>> services;
    bool const has_holder = given[2] == "hold";
    for (std::size_t i = 2; i < given.size(); ++i) {
        services.push_back(std::make_unique<Service>(given[i], given[0], ttl));
        services.back()->start();
        if (has_holder && !services.back()->wait_until_ready())
            throw std::runtime_error(given[i] + ": got no lease although the store is there");
    }
    std::cout << "ready" << std::endl;
    wait_for(SIGUSR1);
    for (auto const& service : services)
        service->outage();
    wait_for(SIGTERM);
    Stalls stalls;
    auto const stopped = std::chrono::steady_clock::now();
    for (auto const& service : services)
        service->stop();
    bool all_ended = true;
    for (auto const& service : services)
        all_ended = service->report(stopped, stalls) && all_ended;
    if (!all_ended)
        std::_Exit(1);
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << std::endl;
    std::_Exit(2);
}
