// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that asks more of a slow Redis server than that can answer at once.
#include "small_world.hpp"

#include "random.hpp"
#include "server.hpp"

#include "harness/immovable.hpp"

#include <store/redis/backend.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>
#include <tenure/testing.hpp>
#include <testing/virtual_time.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// commands of a claim that is alone: MULTI, SET, a token, EXEC
constexpr unsigned commands_of_claim = 4;
/// virtual time stops so often to look
constexpr auto look_every = 50ms;

class World : test::Immovable
{
public:
    explicit World(std::uint64_t seed)
        : random_(seed, 91)
        , rate_(std::array{50U, 500U, 5000U}.at(random_.below(3)))
        , ttl_(random_.below(2) == 0 ? 3s : 10s)
        , runtime_(testing::make_runtime(time_, seed))
        , server_(std::make_shared<SlowServer>(runtime_, server_settings()))
    {
        RedisConfig config;
        store_.emplace(
            runtime_,
            redis::make_backend(
                runtime_, config,
                [server = server_](std::shared_ptr<Runtime> const&, RedisConfig const&) { return server->connect(); }),
            StoreOptions{.worker_name = "process"});
    }
    ~World() = default;

    SmallOutcome run()
    {
        take_some(20 + random_.below(180));
        auto const held = leases_.size();
        burst();
        if (random_.below(2) == 0)
            release_many(held / 2);
        pass_until_answered();
        // time for all leases of the burst to end
        pass(2 * ttl_);
        judge();
        leases_.clear();
        store_.reset();
        pass(2 * ttl_);
        return outcome_;
    }

private:
    [[nodiscard]] SlowServer::Settings server_settings()
    {
        // a small buffer is full before a call for many claims is written; a large one hides all of them
        std::size_t const buffer = random_.below(2) == 0 ? 4096 : std::size_t{4} * 1024 * 1024;
        return {rate_, std::chrono::microseconds(random_.between(20, 2000)), buffer};
    }

    /** Leases that are held throughout, taken one after another. */
    void take_some(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            acquire(1h);
            while (unanswered_ > 0 && outcome_.violation.empty())
                pass(look_every);
        }
    }

    /** Asks for as much as the server can answer in some seconds, at once or within a second. */
    void burst()
    {
        auto const seconds = 4 + random_.below(12);
        auto const count = std::min(rate_ * seconds / commands_of_claim, 1200U);
        // the time for all claims one by one, and a part for renewals and releases
        auto const wait = 3 * std::chrono::nanoseconds(1s) * commands_of_claim * count / rate_ / 2 + 2s;
        bool const at_once = random_.below(2) == 0;
        for (unsigned i = 0; i < count && outcome_.violation.empty(); ++i) {
            acquire(std::chrono::ceil<milliseconds>(wait));
            if (!at_once && i % 50 == 49)
                pass(milliseconds(random_.below(40)));
        }
    }

    void acquire(milliseconds wait)
    {
        Lock const lock(*store_, {.key = "key:" + std::to_string(++asked_), .ttl = ttl_});
        ++unanswered_;
        auto const number = asked_;
        lock.async_acquire(AcquireOptions{.wait = wait}, [this, number](boost::system::error_code error, Lease lease) {
            --unanswered_;
            trace(number);
            if (error)
                violation(
                    "F2: the server could have served acquisition " + std::to_string(number) +
                    ", which ended: " + error.message());
            else
                leases_.push_back(std::move(lease));
            ++outcome_.counts[error ? "refused" : "granted"];
        });
    }

    void release_many(std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i) {
            auto const lease = std::make_shared<Lease>(std::move(leases_.back()));
            leases_.pop_back();
            lease->async_release([lease](boost::system::error_code, ReleaseOutcome) {});
            ++outcome_.counts["released"];
        }
    }

    void pass_until_answered()
    {
        while (unanswered_ > 0 && outcome_.violation.empty())
            pass(look_every);
    }

    void pass(Clock::duration time)
    {
        auto const end = time_.now() + time;
        while (time_.now() < end && outcome_.violation.empty()) {
            time_.run_for(std::min<Clock::duration>(look_every, end - time_.now()));
            look();
        }
    }

    void look()
    {
        auto const lost = std::ranges::count_if(leases_, [](Lease const& lease) { return !lease.valid(); });
        if (lost > 0)
            violation(
                "F1: " + std::to_string(lost) + " of " + std::to_string(leases_.size()) +
                " leases are lost, and the server answered throughout");
        auto const& seen = server_->seen();
        if (seen.claims_repeated > 0)
            violation("F2: a claim was sent again while its first request was answerable");
        if (seen.renewals_repeated > 0)
            violation("F2: a renewal was sent again while its first request was answerable");
        if (seen.connections > 1)
            violation("F2: a second connection was opened beside one that answers");
    }

    void judge()
    {
        auto const failed = store_->statistics().renewals_failed;
        if (failed > 0)
            violation("F2: " + std::to_string(failed) + " renewals failed at a server that works");
        outcome_.counts["renewals"] += store_->statistics().renewals;
        outcome_.counts["commands"] += server_->seen().commands;
        trace(server_->seen().commands);
    }

    void violation(std::string text)
    {
        if (outcome_.violation.empty())
            outcome_.violation = std::move(text) + " (" + std::to_string(rate_) + " commands a second, ttl " +
                                 std::to_string(ttl_.count()) + " ms)";
    }
    void trace(std::uint64_t what) { outcome_.trace = outcome_.trace * 0x100000001b3U ^ what; }

    testing::VirtualTime time_;
    Random random_;
    unsigned rate_;
    milliseconds ttl_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<SlowServer> server_;
    std::optional<Store> store_;
    std::vector<Lease> leases_;
    unsigned asked_ = 0;
    unsigned unanswered_ = 0;
    SmallOutcome outcome_;
};

} // namespace

SmallLayer const small_layer{"slow", [](std::uint64_t seed) { return World(seed).run(); }};

} // namespace tenure::simulation
