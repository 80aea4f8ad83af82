// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Changes that clients without the library make to nodes and sessions of the library.
#include "fleet.hpp"
#include "stranger.hpp"
#include "zookeeper_under_attack.hpp"

#include "harness/auditor.hpp"
#include "harness/eventually.hpp"

#include <chrono>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::Holding;

namespace
{

/// added to G, as for every key without a holder
constexpr auto gone_slack = 3s;

[[nodiscard]] bool is_of(std::optional<test::ZookeeperNode> const& node, Holding const& holder)
{
    return node && static_cast<std::uint64_t>(node->czxid) == holder.fencing_token;
}

} // namespace

std::uint16_t ZookeeperUnderAttack::some_port(Random& random)
{
    return ensemble_.server(random.below(ensemble_.size())).port();
}

bool ZookeeperUnderAttack::rob(Attack& attack, std::string const& name, Deed deed)
{
    auto const victim = attack.fleet.oldest_holder();
    if (!victim)
        return false;
    auto const& path = paths_[victim->cell];
    test::ZookeeperClient person{some_port(attack.random)};
    auto const node = person.get_after_write(looks_mark, {path}).front();
    if (!is_of(node, *victim) || attack.fleet.holder_of(victim->cell) != victim->fencing_token)
        return false;
    auto robbed = forgetting(name, {victim->cell});
    // it prevents no other renewal
    robbed.harmless = true;
    FaultScope const fault{attack.ledger, std::move(robbed)};
    bool const done = deed == Deed::remove    ? person.remove(path, node->version)
                      : deed == Deed::replace ? person.replace(path, stranger, node->version)
                                              : person.set(path, stranger, node->version);
    if (!done)
        return true;
    attack.fleet.robbed(*victim);
    if (deed == Deed::replace)
        expect_kept(attack, person, *victim);
    else if (deed == Deed::overwrite)
        expect_gone(attack, person, *victim);
    return true;
}

void ZookeeperUnderAttack::expect_kept(Attack& attack, test::ZookeeperClient& person, Holding const& victim)
{
    auto const& path = paths_[victim.cell];
    // until the former holder has released, and a while longer
    static_cast<void>(test::eventually(
        [&] {
            attack.wait(20ms);
            return attack.fleet.holder_of(victim.cell) != victim.fencing_token;
        },
        arena().ttl * 3 / 2));
    attack.wait(100ms);
    auto const now = person.get_after_write(looks_mark, {path}).front();
    if (!now || now->data != stranger)
        attack.ledger.breach("S7", path + ": the node that a stranger made is gone");
    else
        static_cast<void>(person.remove(path));
}

void ZookeeperUnderAttack::expect_gone(Attack& attack, test::ZookeeperClient& person, Holding const& victim)
{
    auto const& path = paths_[victim.cell];
    bool const gone = test::eventually(
        [&] {
            attack.wait(20ms);
            return !is_of(person.get(path), victim);
        },
        arena().ttl + gone_slack);
    if (!gone)
        attack.ledger.breach(
            "S9", path + ": its holder was told that it lost it, and does not remove the node G and 3 s after");
}

bool ZookeeperUnderAttack::close_session(Attack& attack)
{
    auto const victim = attack.fleet.oldest_holder();
    if (!victim)
        return false;
    bool closed = false;
    // Standing still it takes no further key meanwhile: which leases end is known.
    bool const stopped = attack.fleet.while_stopped(victim->pid, [&] {
        test::ZookeeperClient person{some_port(attack.random)};
        auto const node = person.get_after_write(looks_mark, {paths_[victim->cell]}).front();
        if (!is_of(node, *victim) || node->ephemeral_owner == 0)
            return;
        auto const session = node->ephemeral_owner;
        auto intruder = test::ZookeeperClient::in_session(some_port(attack.random), session, arena().ttl);
        auto const nodes = intruder.get_after_write(looks_mark, paths_);
        std::vector<std::uint32_t> cells;
        for (std::uint32_t cell = 0; cell < arena().cells(); ++cell)
            if (nodes[cell] && nodes[cell]->ephemeral_owner == session)
                cells.push_back(cell);
        if (cells.empty())
            return;
        auto robbed = forgetting("session closed by a stranger", cells);
        robbed.harmless = true;
        FaultScope const fault{attack.ledger, std::move(robbed)};
        intruder.close();
        closed = true;
        for (auto const cell : cells)
            if (auto const holder = attack.auditor.occupant(cell); holder && is_of(nodes[cell], *holder))
                attack.fleet.robbed(*holder);
    });
    return stopped && closed;
}

} // namespace tenure::faults
