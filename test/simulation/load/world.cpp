// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Bursts of acquisitions beside held leases, on servers that answer a fixed number of requests a second.
#include "queued_client.hpp"
#include "random.hpp"
#include "slow_server.hpp"
#include "small_world.hpp"

#include <tenure/errc.hpp>
#include <tenure/lock.hpp>
#include <tenure/testing.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
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

constexpr milliseconds ttl = 10s;
constexpr std::int64_t window = 32;
/// of an acquisition with a written step of its claim
constexpr milliseconds patience = 1s;
/// of a claim, and its release
constexpr std::int64_t requests_per_acquisition = 3;
constexpr std::int64_t most_at_once = 2000;

/** One acquisition of the burst, and when an ideal client would have had it granted. */
struct Wanted {
    Instant began;
    milliseconds wait;
    /// acquisitions of the burst that began before
    std::int64_t ahead;
    bool done = false;
    error_code error;
};

class LoadWorld
{
public:
    explicit LoadWorld(std::uint64_t seed)
        : random_(seed, 79)
        , per_second_(std::array{50, 500, 5000}.at(random_.below(3)))
        , server_(time_, Clock::duration(1s) / per_second_)
        , stalls_(random_.below(4) == 0)
    {
        auto const runtime = testing::make_runtime(time_, seed);
        auto const writes =
            random_.below(2) == 0 ? QueuedClient::Writes::pipelined : QueuedClient::Writes::one_per_connection;
        client_ = std::make_shared<QueuedClient>(runtime, server_, static_cast<std::size_t>(window), writes);
        store_.emplace(runtime, client_, StoreOptions{.worker_name = "process"});
    }

    SmallOutcome run()
    {
        hold_some();
        for (int bursts = 1 + static_cast<int>(random_.below(3)); bursts > 0 && outcome_.violation.empty(); --bursts)
            burst();
        if (outcome_.violation.empty())
            finish();
        outcome_.counts["requests"] += server_.executed();
        outcome_.trace = outcome_.trace * 31 + server_.executed();
        return outcome_;
    }

private:
    void hold_some();
    void burst();
    void want(Wanted& wanted);
    void finish();
    void look();
    /** How long the server takes for these requests, if it is never idle. */
    [[nodiscard]] Clock::duration serves(std::int64_t requests) const
    {
        return Clock::duration(1s) / per_second_ * requests;
    }
    void expect(bool holds, std::string const& rule)
    {
        if (!holds && outcome_.violation.empty())
            outcome_.violation = rule;
    }

    Random random_;
    testing::VirtualTime time_;
    int per_second_;
    SlowServer server_;
    /// the server stops now and then, for less than the tolerated outage
    bool stalls_;
    std::shared_ptr<QueuedClient> client_;
    std::optional<Store> store_;
    std::vector<Lease> held_;
    std::list<Wanted> burst_;
    std::uint64_t number_ = 0;
    SmallOutcome outcome_;
};

void LoadWorld::hold_some()
{
    // their renewals take a small part of what the server can do
    auto const count = random_.between(1, std::min<std::int64_t>(per_second_, 1000));
    for (std::int64_t i = 0; i < count; ++i)
        Lock(*store_, {.key = "held " + std::to_string(i), .ttl = ttl})
            .async_acquire(forever, [this](error_code error, Lease lease) {
                expect(!error, "L1: a lease that was waited for without end was not granted");
                held_.push_back(std::move(lease));
            });
    time_.run_for(serves(count * requests_per_acquisition) + 5s);
    expect(held_.size() == static_cast<std::size_t>(count), "L1: a free key was not granted");
    outcome_.counts["held"] += held_.size();
}

void LoadWorld::burst()
{
    auto const most = std::min<std::int64_t>(std::int64_t{per_second_} * 10, most_at_once);
    auto const count = random_.between(1, most);
    burst_.clear();
    for (std::int64_t i = 0; i < count; ++i) {
        auto& wanted = burst_.emplace_back();
        wanted.began = time_.now();
        wanted.ahead = i;
        wanted.wait = milliseconds(random_.between(500, 60'000));
        want(wanted);
    }
    outcome_.counts["wanted"] += burst_.size();
    for (int second = 0; second < 65; ++second) {
        if (stalls_ && random_.below(10) == 0)
            server_.stall(milliseconds(random_.between(0, 3000)));
        time_.run_for(1s);
        look();
    }
    for (auto const& wanted : burst_) {
        expect(wanted.done, "L1: an acquisition has not ended after its wait");
        // twice what an ideal client takes, the renewals, and what is under way at the beginning
        auto const served = serves((wanted.ahead + 1) * requests_per_acquisition) * 2 + serves(2 * window) + 1s;
        bool const could_be_served = !stalls_ && served <= wanted.wait;
        outcome_.counts["granted"] += wanted.error ? 0U : 1U;
        outcome_.counts["must be granted"] += could_be_served ? 1U : 0U;
        expect(
            !wanted.error || !could_be_served,
            "F2: a claim that could be served within " + std::to_string(served / 1ms) + " ms ended after " +
                std::to_string(wanted.wait.count()) + " ms: " + wanted.error.message());
    }
}

void LoadWorld::want(Wanted& wanted)
{
    Lock(*store_, {.key = "k" + std::to_string(++number_), .ttl = ttl})
        .async_acquire({.wait = wanted.wait}, [this, &wanted](error_code error, Lease lease) {
            wanted.done = true;
            wanted.error = error;
            expect(
                !error || error == errc::store_unavailable,
                "an acquisition of a free key ended with " + error.message());
            expect(time_.now() <= wanted.began + wanted.wait + 1s, "L1: an acquisition ended long after its wait");
            outcome_.trace = outcome_.trace * 31 + static_cast<std::uint64_t>((time_.now() - wanted.began) / 1us);
            lease.async_release([](error_code, ReleaseOutcome) {});
        });
}

void LoadWorld::look()
{
    for (auto const& lease : held_)
        expect(lease.valid(), "F1: a held lease is lost, and the server was never silent for longer than tolerated");
    expect(client_->most_renewals() <= 1, "F2: a renewal was repeated on the connection that may answer the first one");
    expect(
        client_->longest_silence() >= patience || client_->most_claims() <= 1,
        "F2: a claim was repeated, and no answer took longer than its patience");
}

void LoadWorld::finish()
{
    auto const before = server_.executed();
    // a server without waiting clients gets renewals alone
    time_.run_for(ttl);
    look();
    auto const renewals = static_cast<std::uint64_t>(held_.size()) * 4 + 4;
    expect(server_.executed() - before <= renewals, "F2: more requests than renewals after the load has ended");
    held_.clear();
    store_.reset();
    time_.run_for(5s);
}

} // namespace

SmallLayer const small_layer{"load", [](std::uint64_t seed) { return LoadWorld(seed).run(); }};

} // namespace tenure::simulation
