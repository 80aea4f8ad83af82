// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// An election among programs, on every store.
#include "conformance/locks/programs.hpp"

#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/run.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

/** A program that stands for the office, and follows the others. */
struct Candidate {
    Candidate(Programs& programs, std::string const& name)
        : store(programs.open(name))
        , election(
              store, {.name = programs.key("office"),
                      .contact = name + ".example:80",
                      .ttl = std::max<std::chrono::milliseconds>(programs.subject().short_ttl(), 3s),
                      .refresh = 200ms})
    {
        follow(0);
    }

    void follow(std::uint64_t seen)
    {
        election.async_next_leader(seen, lifetime.guard([this](error_code error, Leader leader) {
            if (error)
                return;
            leaders.push_back(leader);
            follow(leader.version);
        }));
    }
    void campaign()
    {
        election.async_campaign(lifetime.guard([this](error_code, Lease granted) { lease = std::move(granted); }));
    }
    [[nodiscard]] bool sees(std::string const& name) const
    {
        auto const now = election.leader();
        return now.state == Leader::State::present && now.name == name && now.contact == name + ".example:80";
    }
    [[nodiscard]] bool heard_of(std::string const& name) const
    {
        return std::ranges::any_of(leaders, [&](Leader const& leader) {
            return leader.state == Leader::State::present && leader.name == name;
        });
    }
    [[nodiscard]] bool sees_none() const { return election.leader().state == Leader::State::none; }

    Store store;
    Election election;
    std::vector<Leader> leaders;
    Lease lease;
    Lifetime lifetime;
};

} // namespace

TEST_CASE("programs see who leads and where, and its successor after it has resigned", "[election]")
{
    Programs programs;
    Candidate a(programs, "a");
    Candidate b(programs, "b");
    programs.run_until([&] { return a.sees_none() && b.sees_none(); });
    a.campaign();
    programs.run_until([&] { return a.sees("a") && b.sees("a"); });
    CHECK(a.lease.valid());
    if (auto const token = b.election.leader().fencing_token)
        CHECK(token == a.lease.fencing_token());
    b.campaign();
    programs.run_for(300ms);
    CHECK(b.lease.empty());
    a.lease.async_release([](error_code, ReleaseOutcome) {});
    // the handlers of the followers may run after `leader()` has changed
    programs.run_until([&] { return a.sees("b") && b.sees("b") && a.heard_of("b") && b.heard_of("b"); });
    // where a claim takes two steps, others see the owner after the first one
    programs.run_until([&] { return b.lease.valid(); });
    // never an older leader after a newer one
    for (auto const* candidate : {&a, &b}) {
        std::vector<std::string> names;
        for (auto const& leader : candidate->leaders)
            if (leader.state == Leader::State::present)
                names.push_back(leader.name);
        CHECK(names == std::vector<std::string>{"a", "b"});
        CHECK(std::ranges::is_sorted(candidate->leaders, {}, &Leader::version));
    }
    b.lease.async_release([](error_code, ReleaseOutcome) {});
    programs.run_until([&] { return a.sees_none() && b.sees_none(); });
}

TEST_CASE("a program that leads by async_run campaigns again after it has lost the office", "[election]")
{
    Programs programs;
    Candidate a(programs, "a");
    Candidate b(programs, "b");
    std::vector<std::string> owners;
    std::optional<std::exception_ptr> ended;
    auto const work = [&](Lease& lease) -> asio::awaitable<void> {
        owners.push_back(lease.owner());
        asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
        co_await timer.async_wait(asio::use_awaitable);
    };
    asio::cancellation_signal stop;
    async_run(a.election, work, asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr failure) {
                  ended = failure;
              }));
    programs.run_until([&] { return owners.size() == 1 && b.sees("a"); });
    std::optional<error_code> evicted;
    b.store.async_evict(
        {.range = b.election.range(), .owner = owners.front()}, "operator",
        [&](error_code error, std::chrono::milliseconds) { evicted = error; });
    programs.run_until([&] { return evicted.has_value(); });
    REQUIRE(evicted == error_code());
    programs.run_until([&] { return owners.size() == 2 && b.sees("a"); });
    CHECK(owners.front() != owners.back());
    stop.emit(asio::cancellation_type::terminal);
    programs.run_until([&] { return ended && b.sees_none(); });
}

} // namespace tenure::test
