// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "watcher.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;
using test::Holding;

namespace
{

/// the longest delay of the network, and of a release that is sent again, on top of G
constexpr std::int64_t orphan_slack = 3'000'000'000;
/// between two clocks that are compared
constexpr std::int64_t clock_slack = 20'000'000;

/** Why the key is not the one's who relies on it. */
std::string in_the_store(KeyLook const& key)
{
    if (!key.held)
        return "it is free";
    if (key.foreign)
        return "it is a stranger's";
    // an owner's random part, of which the mark is half, is its secret
    return key.mark ? "another claim holds it" : "its token is " + std::to_string(key.fencing_token);
}

} // namespace

Watcher::Watcher(Arena const& arena, test::Auditor const& auditor, StoreUnderAttack& store, Ledger& ledger)
    : Observation(arena, auditor, store, ledger)
    , memory_(arena.cells())
{
    begin([this] { run(); });
}

Watcher::~Watcher()
{
    end();
}

Watcher::Figures Watcher::stop()
{
    end();
    return figures_;
}

void Watcher::run()
{
    while (!ended()) {
        auto const before = boottime_ns();
        std::this_thread::sleep_for(10ms);
        paused(before, boottime_ns());
        look();
    }
}

Watcher::Occupants Watcher::occupants() const
{
    Occupants all;
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
        all.push_back(auditor_.occupant(cell));
    return all;
}

void Watcher::look()
{
    auto const began = boottime_ns();
    auto const before = occupants();
    auto const keys = store_.look();
    if (!keys)
        return;
    auto const after = occupants();
    ++figures_.looks;
    if (std::ranges::none_of(*keys, [](KeyLook const& key) { return key.held && !key.foreign; }))
        found_free(began);
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell) {
        auto const& key = keys->at(cell);
        if (key.endless) {
            complain(memory_[cell].complained_endless, key.claim(), "S13", "the key has no ttl", cell);
            continue;
        }
        auto const left = key.expiry - boottime_ns();
        if (key.held && !key.foreign && key.expiry_known && left > arena_.ttl_ns() + clock_slack &&
            store_.expiry_delay(began - 2 * arena_.ttl_ns()) == 0)
            complain(
                memory_[cell].complained_endless, key.claim(), "S13",
                "the key's ttl is " + std::to_string(left / 1'000'000) + " ms", cell);
        if (before[cell])
            compare(cell, key, *before[cell], after[cell]);
        look_for_orphan(cell, key, after[cell]);
    }
}

void Watcher::compare(
    std::uint32_t cell, KeyLook const& key, Holding const& before, std::optional<Holding> const& after)
{
    auto const token = before.fencing_token;
    bool const stayed = after && after->fencing_token == token && after->entered == before.entered;
    if (key.held && !key.foreign && key.bears(before)) {
        // several servers are not looked at in one step: one that has left may be half released
        if (!stayed)
            return;
        ++figures_.live;
        if (!key.expiry_known)
            return;
        ++figures_.compared;
        // Read before the store was asked, whose expiry only grows while one holder has the key.
        auto const margin = key.expiry - before.valid_until;
        figures_.least_margin = std::min(figures_.least_margin, margin);
        if (margin > 0)
            return;
        // a promoted standby may lack renewals
        if (auto const fault = ledger_.forgotten_by(cell, boottime_ns(), arena_.ttl_ns()); !fault.empty()) {
            if (std::exchange(memory_[cell].complained_expiry, token) != token)
                ledger_.excuse("S2", fault);
            return;
        }
        complain(
            memory_[cell].complained_expiry, token, "S2",
            "valid_until is " + std::to_string(-margin / 1000) + " us behind the store's expiry" + key.detail, cell);
        return;
    }
    auto const now = boottime_ns();
    if (!stayed || after->valid_until <= now || (arena_.frees_at_death && ledger_.dead(before.pid, now)))
        return;
    if (auto const fault = ledger_.forgotten_by(cell, now, arena_.ttl_ns()); !fault.empty()) {
        if (std::exchange(memory_[cell].complained_live, token) != token)
            ledger_.excuse("S1 (live without the key)", fault);
        return;
    }
    complain(
        memory_[cell].complained_live, token, "S1",
        "somebody relies on the key with token " + std::to_string(token) + ", and in the store " + in_the_store(key),
        cell);
}

void Watcher::look_for_orphan(std::uint32_t cell, KeyLook const& key, std::optional<Holding> const& after)
{
    auto& memory = memory_[cell];
    auto const now = boottime_ns();
    bool const live = after && key.bears(*after) && after->valid_until > now;
    if (!key.held || key.foreign || live) {
        memory.orphan_claim.reset();
        return;
    }
    if (std::exchange(memory.orphan_claim, key.claim()) != key.claim())
        memory.orphan_since = now;
    auto const bound = arena_.ttl_ns() + orphan_slack;
    // After a clock jump back, keys without renewals stay for the duration of the jump.
    if (store_.expiry_delay(now - bound) > 0)
        return;
    figures_.longest_orphan = std::max(figures_.longest_orphan, now - memory.orphan_since);
    if (now - memory.orphan_since > bound)
        complain(
            memory.complained_orphan, key.claim(), "S9",
            "for longer than G and 3 s the key stays taken without a holder", cell);
}

void Watcher::complain(
    std::optional<std::uint64_t>& last, std::uint64_t grant, std::string rule, std::string const& text,
    std::uint32_t cell)
{
    if (std::exchange(last, grant) != grant)
        ledger_.breach(std::move(rule), arena_.key(cell) + ": " + text);
}

} // namespace tenure::faults
