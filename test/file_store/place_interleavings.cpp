// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The steps of a holder, a waiter and a newcomer of one key with places, in random orders and with a clock that jumps
// between any two of them: two places that exclude each other never hold together. The code that runs is the one that
// ships.
#include "standing_process.hpp"
#include "store/file/places.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

constexpr auto brief = 3 * StandingWorld::unit;
constexpr auto long_ttl = 1000 * StandingWorld::unit;

ClaimRequest request_of(KeyRangePtr range, std::string owner, std::chrono::milliseconds ttl, bool again = false)
{
    ClaimRequest request{std::move(range), std::move(owner), ttl, Instant::max(), true, std::nullopt};
    request.waits = Waits::in_line;
    request.share = Share{};
    if (again)
        request.earliest_attempt = Instant{};
    return request;
}

/** The number of the place that an answer names; 0: none. */
std::uint64_t number_of(std::optional<ClaimReply> const& reply)
{
    if (auto const* const granted = reply ? std::get_if<Granted>(&*reply) : nullptr)
        return granted->fencing_token;
    auto const* const busy = reply ? std::get_if<Busy>(&*reply) : nullptr;
    return busy != nullptr && busy->place ? busy->place->number : 0;
}

struct PlaceWorld : StandingWorld {
    StandingProcess holder{directory.path(), clock};
    StandingProcess waiter{directory.path(), clock};
    StandingProcess newcomer{directory.path(), clock};

    /** One order of the steps. True if two held the key at once, or not in the order of their numbers. */
    bool run(bool evicts, std::chrono::milliseconds waiter_ttl);
};

bool PlaceWorld::run(bool evicts, std::chrono::milliseconds waiter_ttl)
{
    auto const range = shared_key("key" + std::to_string(keys++));
    auto const reply = holder.claim(request_of(range, "worker/holder", brief));
    auto const& granted = std::get<Granted>(reply.value());
    auto const claim = std::make_shared<Claim>();
    claim->range = range;
    claim->owner = "worker/holder";
    claim->handle = granted.handle;
    auto const first = number_of(waiter.claim(request_of(range, "worker/waiter", waiter_ttl)));
    std::atomic<std::int64_t> held_until = (granted.since + brief).time_since_epoch().count();
    std::atomic<std::int64_t> waited_until = 0;
    std::atomic<std::int64_t> entered_until = 0;
    std::atomic<std::uint64_t> waiting = first;
    std::atomic<std::uint64_t> entered = 0;
    pass(2);

    Interleaver steps;
    steps.add([&] {
        auto const answers = file::renew(*holder.context.session, {{claim, brief, Instant::max()}});
        auto const* const renewed = std::get_if<Renewed>(&answers[0].reply);
        held_until = renewed != nullptr ? (renewed->since + renewed->ttl).time_since_epoch().count() : 0;
    });
    steps.add([&] {
        for (int attempt = 0; attempt < 3 && waited_until == 0; ++attempt) {
            auto const answer = waiter.claim(request_of(range, "worker/waiter", waiter_ttl, true));
            if (auto const number = number_of(answer); number != 0)
                waiting = number;
            waited_until = end_of<Granted>(answer);
        }
    });
    steps.add([&] {
        if (evicts)
            static_cast<void>(unless_contended([&] {
                return file::evict(newcomer.context, {range, 0, "worker/holder", "operator", Instant::max()});
            }));
        for (int attempt = 0; attempt < 2 && entered_until == 0; ++attempt) {
            auto const answer = newcomer.claim(request_of(range, "worker/newcomer", long_ttl, attempt > 0));
            if (auto const number = number_of(answer); number != 0)
                entered = number;
            entered_until = end_of<Granted>(answer);
        }
    });
    bool both = false;
    auto const look = [&] {
        int const holding =
            (held_until > clock ? 1 : 0) + (waited_until > clock ? 1 : 0) + (entered_until > clock ? 1 : 0);
        both = both || holding > 1;
    };
    steps.run(random, [&] { pass(1); }, look);
    // a place keeps its number until it has lapsed, and then enters behind
    bool const kept = waiting == first;
    bool const ordered = kept ? entered == 0 || entered > first : waiting > first;
    return both || !ordered || (waiter_ttl == long_ttl && !kept);
}

int count_of_faults(int orders, bool evicts, std::chrono::milliseconds waiter_ttl)
{
    PlaceWorld world;
    int found = 0;
    for (int order = 0; order < orders; ++order)
        found += world.run(evicts, waiter_ttl) ? 1 : 0;
    return found;
}

} // namespace

TEST_CASE("a place that is renewed, one that waits and a newcomer never hold a key together", "[interleaving][places]")
{
    CHECK(count_of_faults(1000, false, long_ttl) == 0);
}

TEST_CASE("an evicted place keeps the key from those behind it until its end", "[interleaving][places]")
{
    CHECK(count_of_faults(1000, true, long_ttl) == 0);
}

TEST_CASE("a claim whose place lapses meanwhile enters behind the others", "[interleaving][places]")
{
    CHECK(count_of_faults(1000, false, brief) == 0);
    CHECK(count_of_faults(1000, true, brief) == 0);
}

TEST_CASE("a record of a place never names a cell that does not have its claim yet", "[interleaving][places]")
{
    PlaceWorld world;
    auto const range = shared_key("key");
    bool ahead = false;
    auto look = [&] {
        auto& session = *world.newcomer.context.session;
        auto const file = session.find(file::places_of("key").stem);
        if (file == nullptr)
            return;
        OtherHolders holders(session.directory.folders());
        for (std::uint32_t slot = 0; slot < file->slots(); ++slot) {
            auto const pair = file->read(slot);
            auto const& record = file::current(pair);
            if (record.length != 0)
                ahead = ahead || holders.cell(record.holder, record.cell).claim != record.claim;
        }
    };
    Interleaver steps;
    steps.add([&] { CHECK(number_of(world.holder.claim(request_of(range, "worker/holder", brief))) > 0); });
    steps.add([&] { CHECK(number_of(world.waiter.claim(request_of(range, "worker/waiter", brief))) > 0); });
    for (std::size_t actor = 0; actor < steps.size(); ++actor)
        while (!steps.over(actor)) {
            look();
            steps.step(actor);
        }
    look();
    CHECK_FALSE(ahead);
}

} // namespace tenure::test
