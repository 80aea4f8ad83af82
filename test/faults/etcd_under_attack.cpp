// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "etcd_under_attack.hpp"

#include "fleet.hpp"
#include "stranger.hpp"

#include "harness/auditor.hpp"
#include "harness/eventually.hpp"

#include <store/etcd/http/base64.hpp>
#include <store/etcd/http/messages.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

namespace
{

/// a member that does not answer a look is left for another one
constexpr auto look_limit = 700ms;

} // namespace

EtcdUnderAttack::EtcdUnderAttack(Arena const& arena)
    : ConsensusUnderAttack(arena, "member")
{
    for (std::size_t i = 0; i < cluster_.size(); ++i)
        add_member(cluster_.server(i).port());
}

std::string EtcdUnderAttack::url(std::size_t worker) const
{
    return "etcd://" + hosts(worker);
}

// -- what is there --

std::string EtcdUnderAttack::ask(std::string const& path, std::string const& body)
{
    try {
        return test::etcd_post(cluster_.server(asked_).port(), path, body, look_limit);
    } catch (std::exception const&) {
        asked_ = (asked_ + 1) % cluster_.size();
        throw;
    }
}

std::optional<std::vector<KeyLook>> EtcdUnderAttack::look()
try {
    etcd::Transaction transaction;
    for (std::uint32_t cell = 0; cell < arena().cells(); ++cell)
        transaction.then_read({arena().key(cell), {}}, {});
    auto const reply = etcd::parse_transaction(ask("kv/txn", transaction.body()));
    if (!reply || reply->reads.size() != arena().cells()) {
        asked_ = (asked_ + 1) % cluster_.size();
        return std::nullopt;
    }
    std::vector<KeyLook> keys(arena().cells());
    looked_at_ = (looked_at_ + 1) % arena().cells();
    for (std::uint32_t cell = 0; cell < arena().cells(); ++cell) {
        auto const& found = reply->reads[cell].found;
        if (found.empty())
            continue;
        auto& key = keys[cell];
        key.held = true;
        key.foreign = found.front().value == stranger;
        key.endless = found.front().lease == 0;
        key.fencing_token = found.front().create_revision;
        // one lease at a look: each is a question of its own
        auto const expiry = cell == looked_at_ && !key.endless ? expiry_of(found.front().lease) : std::nullopt;
        key.expiry_known = expiry.has_value();
        key.expiry = expiry.value_or(0);
    }
    return keys;
} catch (std::exception const&) {
    // stopped, killed, without a majority: there is nothing to see
    return std::nullopt;
}

/** The server tells whole seconds, rounded down: it may be so much later. */
std::optional<std::int64_t> EtcdUnderAttack::expiry_of(std::int64_t lease)
{
    auto const reply = etcd::parse_lease(ask("lease/timetolive", etcd::lease_body(lease)));
    if (!reply || reply->ttl < 0)
        return std::nullopt;
    auto const seconds = std::min<std::int64_t>(reply->ttl + 1, arena().ttl_ns() / 1'000'000'000);
    return boottime_ns() + seconds * 1'000'000'000;
}

std::vector<std::string> EtcdUnderAttack::endless_keys()
{
    // from the first key to the last
    auto const reply = etcd::parse_range(
        test::etcd_post(cluster_.server(0).port(), "kv/range", R"({"key":"AA==","range_end":"AA=="})"));
    if (!reply)
        throw std::runtime_error("etcd does not answer in the end");
    std::vector<std::string> endless;
    for (auto const& entry : reply->found)
        if (entry.lease == 0)
            endless.push_back(entry.key);
    return endless;
}

// -- what is done --

bool EtcdUnderAttack::move_leader(Attack& attack)
{
    FaultScope const scope{attack.ledger, harmless("leadership moved")};
    auto const leader = cluster_.leader();
    auto const next = (leader + 1 + attack.random.below(cluster_.size() - 1)) % cluster_.size();
    expect_election();
    auto const status = test::etcdctl(cluster_.server(next).port(), {"endpoint", "status"});
    // endpoint, ID, version, ...
    auto const begin = status.find(", ");
    if (begin == std::string::npos)
        return false;
    auto const id = status.substr(begin + 2, status.find(',', begin + 2) - begin - 2);
    static_cast<void>(test::etcdctl(cluster_.server(leader).port(), {"move-leader", id}));
    recover(attack);
    return true;
}

bool EtcdUnderAttack::compact(Attack& attack)
{
    FaultScope const scope{attack.ledger, harmless("history compacted")};
    auto const port = cluster_.server(attack.random.below(cluster_.size())).port();
    auto const reply = etcd::parse_range(test::etcd_post(port, "kv/range", R"({"key":"ZmF1bHRz"})"));
    return reply && !test::etcdctl(port, {"compaction", std::to_string(reply->header.revision)}).empty();
}

bool EtcdUnderAttack::rob(Attack& attack, bool only_delete)
{
    auto const victim = attack.fleet.oldest_holder();
    if (!victim)
        return false;
    auto const key = arena().key(victim->cell);
    auto const port = cluster_.server(0).port();
    if (attack.fleet.holder_of(victim->cell) != victim->fencing_token)
        return false;
    auto robbed =
        forgetting(only_delete ? "key deleted by a stranger" : "key overwritten by a stranger", {victim->cell});
    // it prevents no other renewal
    robbed.harmless = true;
    FaultScope const fault{attack.ledger, std::move(robbed)};
    etcd::Transaction transaction;
    transaction.if_created_at(key, victim->fencing_token);
    if (only_delete) {
        transaction.then_delete(key);
    } else {
        // a lease that outlasts the victim's
        etcd::LeaseId const lease = static_cast<etcd::LeaseId>(1 + attack.random.below(1'000'000'000));
        static_cast<void>(
            test::etcd_post(port, "lease/grant", etcd::grant_body(lease, 3 * arena().ttl_ns() / 1'000'000'000)));
        transaction.then_put(key, stranger, lease);
    }
    auto const done = etcd::parse_transaction(test::etcd_post(port, "kv/txn", transaction.body()));
    if (!done || !done->succeeded)
        return true;
    attack.fleet.robbed(*victim);
    if (only_delete)
        return true;
    // Until the former holder has released, and a while longer: the foreign value must stay.
    static_cast<void>(test::eventually(
        [&] {
            attack.wait(20ms);
            return attack.fleet.holder_of(victim->cell) != victim->fencing_token;
        },
        arena().ttl * 3 / 2));
    attack.wait(100ms);
    auto const now = etcd::parse_range(test::etcd_post(port, "kv/range", etcd::range_body({key, {}}, {})));
    if (!now || now->found.empty() || now->found.front().value != stranger)
        attack.ledger.breach("S7", key + ": what a stranger wrote is gone");
    else
        static_cast<void>(test::etcd_post(port, "kv/txn", etcd::Transaction().then_delete(key).body()));
    return true;
}

std::vector<Disturbance> EtcdUnderAttack::disturbances()
{
    auto all = common_disturbances();
    all.push_back({"leadership moved", 2, [this](Attack& attack) { return move_leader(attack); }});
    all.push_back({"history compacted", 1, [this](Attack& attack) { return compact(attack); }});
    all.push_back({"key overwritten by a stranger", 2, [this](Attack& attack) { return rob(attack, false); }});
    all.push_back({"key deleted by a stranger", 2, [this](Attack& attack) { return rob(attack, true); }});
    return all;
}

} // namespace tenure::faults
