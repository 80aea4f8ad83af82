// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The steps of a holder, a claimer and an evictor of one key, in random orders and with a clock that jumps between any
// two of them: two owners never hold the key. The code that runs is the one that ships.
#include "interleaver.hpp"
#include "standing_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

constexpr auto ttl = 3 * StandingWorld::unit;

struct World : StandingWorld {
    StandingProcess holder{directory.path(), clock};
    StandingProcess claimer{directory.path(), clock};
    StandingProcess evictor{directory.path(), clock};

    /** One order of the steps. True if two held the key at once. */
    bool run(bool evicts, bool releases);
};

bool World::run(bool evicts, bool releases)
{
    auto const range = named_key("lock" + std::to_string(keys++));
    auto const reply = holder.claim(range, "worker/holder", ttl);
    auto const& granted = std::get<Granted>(reply.value());
    auto const claim = std::make_shared<Claim>();
    claim->range = range;
    claim->owner = "worker/holder";
    claim->handle = granted.handle;
    std::atomic<std::int64_t> held_until = (granted.since + ttl).time_since_epoch().count();
    std::atomic<std::int64_t> claimed_until = 0;
    pass(2);

    Interleaver steps;
    steps.add([&] {
        if (releases) {
            held_until = 0;
            static_cast<void>(
                unless_contended([&] { return file::release(holder.context, {claim, Instant::max(), false}); }));
            return;
        }
        auto const answers = file::renew(*holder.context.session, {{claim, ttl, Instant::max()}});
        auto const* const renewed = std::get_if<Renewed>(&answers[0].reply);
        held_until = renewed != nullptr ? (renewed->since + renewed->ttl).time_since_epoch().count() : 0;
    });
    steps.add([&] {
        for (int attempt = 0; attempt < 3 && claimed_until == 0; ++attempt)
            claimed_until = end_of<Granted>(claimer.claim(range, "worker/claimer", ttl));
    });
    if (evicts)
        steps.add([&] {
            EvictRequest const request{range, 0, "worker/holder", "operator", Instant::max()};
            static_cast<void>(unless_contended([&] { return file::evict(evictor.context, request); }));
        });
    bool both = false;
    steps.run(random, [&] { pass(1); }, [&] { both = both || (held_until > clock && claimed_until > clock); });
    return both;
}

int count_of_double_holdings(int orders, bool evicts, bool releases = false)
{
    World world;
    int found = 0;
    for (int order = 0; order < orders; ++order)
        found += world.run(evicts, releases) ? 1 : 0;
    return found;
}

} // namespace

TEST_CASE("a holder that renews and a claimer never hold a key together", "[interleaving]")
{
    CHECK(count_of_double_holdings(3000, false) == 0);
}

TEST_CASE("a holder that renews, a claimer and an evictor: no two hold a key together", "[interleaving]")
{
    CHECK(count_of_double_holdings(3000, true) == 0);
}

TEST_CASE("a release without a lock never frees a key that another process holds", "[interleaving]")
{
    CHECK(count_of_double_holdings(1000, true, true) == 0);
}

TEST_CASE("a record never names a cell that does not have its claim yet", "[interleaving]")
{
    World world;
    auto const range = named_key("lock");
    auto const area = file::place_of(*range, 0);
    bool ahead = false;
    auto look = [&] {
        auto& session = *world.evictor.context.session;
        auto const file = session.find(area.stem);
        if (file == nullptr)
            return;
        auto const pair = file->read(area.slot);
        auto const& record = file::current(pair);
        OtherHolders holders(session.directory.folders());
        if (record.length != 0)
            ahead = ahead || holders.cell(record.holder, record.cell).claim != record.claim;
    };
    Interleaver steps;
    steps.add([&] { CHECK(end_of<Granted>(world.claimer.claim(range, "worker/claimer", ttl)) > 0); });
    while (!steps.over()) {
        look();
        steps.step(0);
    }
    look();
    CHECK_FALSE(ahead);
}

} // namespace tenure::test
