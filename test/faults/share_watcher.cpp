// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "share_watcher.hpp"

#include "share_work.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>
#include <tenure/open_store.hpp>
#include <tenure/owner.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
namespace asio = boost::asio;
using test::boottime_ns;
using test::Holding;

namespace
{

/// how long a place may hold without a lease, or fit without holding, where nothing disturbs its process or the store
constexpr std::int64_t unused_slack = 1'200'000'000;
/// the longest time for which a lease is held on purpose, and a ttl, in thirds of a ttl
constexpr std::int64_t longest_turn = 4 + 3;
/// between two clocks that are compared, and for a machine with more work than cores
constexpr std::chrono::milliseconds clock_difference{50};

pid_t process_of(Place const& place)
{
    pid_t process = 0;
    if (auto const owner = read_owner(place.owner))
        std::from_chars(owner->worker.data(), owner->worker.data() + owner->worker.size(), process);
    return process;
}

bool is_of(Holding const& lease, std::uint32_t cell, Place const& place)
{
    return lease.cell == cell && lease.fencing_token == place.fencing_token;
}

} // namespace

ShareWatcher::ShareWatcher(Arena const& arena, test::Auditor const& auditor, StoreUnderAttack& store, Ledger& ledger)
    : Observation(arena, auditor, store, ledger)
    , inspected_(
          open_store(context_.get_executor(), store.url(0), {.worker_name = "watcher", .log = silent_log_sink()}))
    , memory_(arena.cells())
{
    begin([this] {
        asio::co_spawn(context_, watch(), asio::detached);
        context_.run();
    });
}

ShareWatcher::~ShareWatcher()
{
    end();
}

ShareWatcher::Figures ShareWatcher::stop()
{
    end();
    return figures_;
}

asio::awaitable<void> ShareWatcher::watch()
{
    asio::steady_timer timer{context_};
    while (!ended()) {
        auto const before = boottime_ns();
        timer.expires_after(20ms);
        co_await timer.async_wait(asio::use_awaitable);
        auto const after = boottime_ns();
        paused(before, after);
        bool free = true;
        for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell) {
            bool const found_free = co_await look(cell);
            free = free && found_free;
        }
        if (free)
            found_free(after);
    }
    context_.stop();
}

std::vector<Holding> ShareWatcher::live_leases(std::int64_t now) const
{
    auto leases = auditor_.holdings();
    std::erase_if(leases, [now](Holding const& one) { return one.left != 0 || one.valid_until <= now; });
    return leases;
}

asio::awaitable<bool> ShareWatcher::look(std::uint32_t cell)
{
    auto const asked = boottime_ns();
    auto const before = live_leases(asked);
    auto const range = shared_key(arena_.key(cell));
    auto result = co_await inspected_.async_inspect(range, asio::as_tuple(asio::use_awaitable));
    auto const answered = boottime_ns();
    // where the answer took long, the machine or the way was in trouble, and it shows no instant
    if (std::get<0>(result) || answered - asked > arena_.ttl_ns() / 6)
        co_return false;
    auto places = std::get<1>(result).at(0).places;
    std::ranges::sort(places, {}, &Place::fencing_token);
    auto const after = live_leases(answered);
    ++figures_.looks;
    figures_.most_places = std::max(figures_.most_places, places.size());
    if (ledger_.forgotten_by(cell, answered, 2 * arena_.ttl_ns()).empty())
        judge({cell, asked, answered, places, before, after});
    else
        memory_[cell] = {};
    co_return places.empty();
}

void ShareWatcher::judge(Look const& look)
{
    judge_order(look);
    judge_numbers(look);
    judge_leases(look);
    judge_progress(look);
}

void ShareWatcher::judge_order(Look const& look)
{
    bool waits = false;
    for (auto const& place : look.places) {
        expect(!place.holds || !waits, look, "S22", "a place holds behind one that waits");
        waits = waits || !place.holds;
        expect(
            place.remaining <= arena_.ttl + clock_difference ||
                store_.expiry_delay(look.asked - 2 * arena_.ttl_ns()) > 0,
            look, "S13", "a place lasts for " + std::to_string(place.remaining.count()) + " ms");
    }
}

void ShareWatcher::judge_numbers(Look const& look)
{
    auto& memory = memory_[look.cell];
    std::map<std::uint64_t, Known> places;
    for (std::size_t i = 0; i < look.places.size(); ++i) {
        auto const& place = look.places[i];
        auto known = memory.places.find(place.fencing_token);
        if (known != memory.places.end()) {
            places.emplace(place.fencing_token, known->second);
            continue;
        }
        expect(
            memory.greatest < place.fencing_token, look, "S20", "a new place has a smaller number than an earlier one");
        places.emplace(place.fencing_token, Known{process_of(place), look.answered, i});
    }
    if (!look.places.empty())
        memory.greatest = std::max(memory.greatest, look.places.back().fencing_token);
    memory.places = std::move(places);
}

void ShareWatcher::judge_leases(Look const& look)
{
    for (auto const& lease : look.before) {
        auto const stays = [&](Holding const& later) {
            return later.cell == lease.cell && later.fencing_token == lease.fencing_token &&
                   later.entered == lease.entered && later.valid_until > look.answered;
        };
        bool const dead = arena_.frees_at_death && ledger_.dead(lease.pid, look.answered);
        if (lease.cell != look.cell || dead || std::ranges::none_of(look.after, stays))
            continue;
        auto const place =
            std::ranges::find_if(look.places, [&](Place const& one) { return is_of(lease, look.cell, one); });
        bool const holds = place != look.places.end() && place->holds;
        figures_.live += holds ? 1 : 0;
        expect(holds, look, "S21", "a lease is valid whose place does not hold");
    }
}

void ShareWatcher::judge_progress(Look const& look)
{
    auto& memory = memory_[look.cell];
    auto const now = look.answered;
    auto const ttl = arena_.ttl_ns();
    std::uint64_t held = 0;
    std::uint64_t least = backend::Share::all;
    bool first = true;
    for (std::size_t i = 0; i < look.places.size(); ++i) {
        auto const& place = look.places[i];
        auto& known = memory.places.at(place.fencing_token);
        held += place.weight;
        least = std::min<std::uint64_t>(least, place.capacity);
        bool const leased =
            std::ranges::any_of(look.after, [&](Holding const& lease) { return is_of(lease, look.cell, place); });
        auto const since = [now](std::int64_t& begin, bool is) {
            begin = !is ? 0 : begin != 0 ? begin : now;
            return is ? now - begin : 0;
        };
        auto const unused = since(known.holds_unused, place.holds && !leased);
        auto const unheld = since(known.fits_unheld, !place.holds && std::exchange(first, false) && held <= least);
        if (ledger_.dead(known.process, now)) {
            // requests that were on their way, or at a server that was stopped, are executed later
            auto const bound = ttl + unused_slack + store_.expiry_delay(now - 2 * ttl);
            expect(
                !ledger_.dead(known.process, now - bound) || ledger_.touched(0, look.cell, now - 2 * bound, now), look,
                "S23", "a dead process has a place");
            continue;
        }
        // faults of the store, and of its process
        if (ledger_.touched(known.process, look.cell, now - 2 * ttl, now)) {
            known = {known.process, now, i, 0, 0};
            continue;
        }
        expect(unused < unused_slack, look, "S23", "a place holds, and its process has no lease for it");
        expect(unheld < unused_slack, look, "L6 (promotion)", "the first place that waits fits, and does not hold");
        expect(
            place.holds || now - known.since < std::int64_t(known.ahead + 1) * longest_turn * ttl / 3, look, "L6",
            "a place waits for longer than (places ahead + 1) x (longest hold + ttl)");
    }
}

void ShareWatcher::expect(bool holds, Look const& look, std::string const& rule, std::string const& text)
{
    if (holds || std::exchange(memory_[look.cell].complained[rule], true))
        return;
    std::string all;
    for (auto const& place : look.places)
        all += " " + std::to_string(place.fencing_token % 100'000'000) + (place.holds ? "!" : "?") +
               std::to_string(place.weight) + "/" + std::to_string(place.capacity) + ":" +
               std::to_string(process_of(place));
    ledger_.breach(rule, arena_.key(look.cell) + ": " + text + ":" + all);
}

} // namespace tenure::faults
