// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/snowflake_service.cpp: four instances under load are killed, evicted, restarted and stopped, and their
// clocks step, within what the service assumes. No ID may come twice; without quarantine and clock wait some do.
#include "faults/wall_clock.hpp"
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using asio::ip::tcp;

namespace
{

constexpr auto snowflake_ttl = 1500ms;
/// the clocks of two instances differ by less than the quarantine of the run that has one
constexpr auto snowflake_rest = 1000ms;
constexpr auto largest_offset = 450ms;

/** One instance, which the test ends and starts again, with a wall clock of its own. */
class SnowflakeInstance
{
public:
    SnowflakeInstance(std::string url, std::string const& file, std::chrono::milliseconds reuse_after)
        : clock_(file + ".clock")
        , output_(file + ".log")
        , port_(free_port())
        , arguments_{
              std::string(TENURE_EXAMPLES) + "/snowflake_service", std::move(url), std::to_string(port_),
              std::to_string(reuse_after.count()), std::to_string(snowflake_ttl.count())}
    {
        start();
    }

    void start()
    {
        process_.emplace(Command{arguments_, clocks_can_move() ? clock_.environment() : NoVariables{}, output_});
    }
    void kill()
    {
        process_->kill();
        start();
    }
    /** As an orchestrator does: SIGTERM, it ends by itself, and is started elsewhere, where the clock is as far behind
     * as it may be. */
    void restart()
    {
        step_clock(largest_offset);
        std::this_thread::sleep_for(50ms);
        process_->signal(SIGTERM);
        CHECK(process_->wait_for(10s) == ExitStatus{0, 0});
        step_clock(-largest_offset);
        start();
    }
    void sleep_through_a_ttl()
    {
        process_->pause();
        std::this_thread::sleep_for(snowflake_ttl + 100ms);
        process_->resume();
    }
    void step_clock(std::chrono::milliseconds offset) { clock_.set(offset); }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /** How many worker IDs it has had. */
    [[nodiscard]] std::size_t grants() const
    {
        std::ifstream file(output_);
        std::size_t count = 0;
        for (std::string line; std::getline(file, line);)
            count += line.starts_with("worker ID ") ? 1U : 0U;
        return count;
    }

private:
    using NoVariables = std::vector<std::pair<std::string, std::string>>;

    /** A sanitizer's runtime wants to be loaded first. */
    static constexpr bool clocks_can_move() { return TENURE_SNOWFLAKE_CLOCKS_MOVE != 0; }

    faults::WallClock clock_;
    std::string output_;
    std::uint16_t port_;
    std::vector<std::string> arguments_;
    std::optional<ChildProcess> process_;
};

/** One client of one instance: asks for an ID as soon as it has the last one. */
class SnowflakeClient : Immovable
{
public:
    explicit SnowflakeClient(std::uint16_t port)
        : endpoint_(asio::ip::address_v4::loopback(), port)
        , thread_([this] { run(); })
    {
    }
    ~SnowflakeClient() { (void)stop(); }

    /** How many IDs it has got. */
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    [[nodiscard]] std::vector<std::uint64_t> stop()
    {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
        return std::move(ids_);
    }

private:
    void run()
    {
        asio::io_context context;
        while (!stop_) {
            tcp::socket socket(context);
            error_code error;
            socket.connect(endpoint_, error);
            while (!stop_ && !error)
                ask(socket, error);
            // the instance is unavailable
            std::this_thread::sleep_for(5ms);
        }
    }

    void ask(tcp::socket& socket, error_code& error)
    {
        asio::write(socket, asio::buffer("\n", 1), error);
        std::string line;
        if (!error)
            asio::read_until(socket, asio::dynamic_buffer(line), '\n', error);
        if (error)
            return;
        if (line.find_first_not_of("0123456789") + 1 == line.size()) {
            ids_.push_back(std::stoull(line));
            ++count_;
        } else {
            // the clock of the instance was set back
            std::this_thread::sleep_for(5ms);
        }
    }

    tcp::endpoint endpoint_;
    std::atomic<bool> stop_ = false;
    std::atomic<std::size_t> count_ = 0;
    /// the thread's until it has ended
    std::vector<std::uint64_t> ids_;
    std::thread thread_;
};

/** Evicts the holder of one slot, if any is held. */
bool evict_one(RunningStore const& store, std::mt19937& random)
{
    auto const range = numbered_keys("snowflake:", 64);
    auto states = soon(store.store().async_inspect(range, asio::use_future));
    std::erase_if(states, [](KeyState const& state) {
        return state.kind != KeyState::Kind::held || state.owner.starts_with("evicted/");
    });
    if (states.empty())
        return false;
    auto const& victim = states[random() % states.size()];
    auto const [error, frees_in] = soon(store.store().async_evict(victim, "test", as_future));
    return !error;
}

struct SnowflakeRun {
    std::size_t ids = 0;
    std::size_t grants = 0;
    std::size_t duplicates = 0;
};

SnowflakeRun run_snowflakes(std::chrono::milliseconds reuse_after)
{
    constexpr std::size_t instance_count = 4;
    RedisServer const server;
    ScratchDirectory const directory;
    RunningStore const operations{server.url()};
    std::vector<std::unique_ptr<SnowflakeInstance>> instances;
    std::vector<std::unique_ptr<SnowflakeClient>> clients;
    for (std::size_t i = 0; i < instance_count; ++i) {
        instances.push_back(
            std::make_unique<SnowflakeInstance>(server.url(), directory.file(std::to_string(i)), reuse_after));
        clients.push_back(std::make_unique<SnowflakeClient>(instances.back()->port()));
    }
    std::mt19937 random(1);
    std::size_t starts = instance_count;
    std::size_t evictions = 0;
    auto const end = Clock::now() + soak_time(20s);
    for (unsigned deed = 0; Clock::now() < end; ++deed) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 300));
        auto& victim = *instances[random() % instance_count];
        switch (deed % 8) {
        case 0:
            victim.kill();
            ++starts;
            break;
        case 1:
        case 3:
        case 5:
            victim.restart();
            ++starts;
            break;
        case 2:
            evictions += evict_one(operations, random) ? 1U : 0U;
            break;
        case 7:
            victim.sleep_through_a_ttl();
            break;
        default:
            // some of them back
            victim.step_clock(std::chrono::milliseconds(random() % 900) - largest_offset);
        }
    }
    // after all faults, every service serves again
    for (auto const& client : clients) {
        auto const before = client->count();
        CHECK(eventually([&] { return client->count() > before; }, 20s));
    }
    SnowflakeRun run;
    std::vector<std::uint64_t> ids;
    for (auto const& client : clients) {
        auto const got = client->stop();
        ids.insert(ids.end(), got.begin(), got.end());
    }
    for (auto const& instance : instances)
        run.grants += instance->grants();
    std::ranges::sort(ids);
    run.ids = ids.size();
    run.duplicates = static_cast<std::size_t>(ids.end() - std::ranges::unique(ids).begin());
    std::cout << "reuse_after " << reuse_after.count() << " ms: " << run.ids << " IDs under " << run.grants
              << " grants, " << starts << " starts and " << evictions << " evictions: " << run.duplicates
              << " duplicates\n";
    CHECK(evictions > 0);
    CHECK(run.ids > 1000);
    // an evicted or stopped holder acquired another slot
    CHECK(run.grants > starts);
    return run;
}

} // namespace

TEST_CASE("instances that are killed, evicted and restarted hand out no Snowflake ID twice", "[redis][snowflake]")
{
    require_redis();
    CHECK(run_snowflakes(snowflake_rest).duplicates == 0);
}

TEST_CASE("without quarantine and clock wait the same instances hand out IDs twice", "[redis][snowflake]")
{
    require_redis();
    if (TENURE_SNOWFLAKE_CLOCKS_MOVE == 0)
        SKIP("all instances have one clock in this build");
    CHECK(run_snowflakes(0ms).duplicates > 0);
}
