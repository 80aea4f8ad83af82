// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "zookeeper_under_attack.hpp"

#include "stranger.hpp"

#include "harness/auditor.hpp"
#include "harness/eventually.hpp"

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

constexpr std::size_t ensemble_size = 3;
constexpr std::size_t ensemble_ways = 3;
/// a server that does not answer a look is left for another one
constexpr auto look_limit = 700ms;
/// servers start slowly beside everything else
constexpr auto recovery_limit = 60s;

/** Servers give each other up after 2 s, write snapshots often, and look for parents that have become empty every
 * second, not every minute. */
test::ZookeeperOptions options()
{
    test::ZookeeperOptions options;
    options.tick = 200ms;
    options.shortest_session = 2 * options.tick;
    options.sync_ticks = 10;
    options.java = {"-Dzookeeper.snapCount=2000", "-Dznode.container.checkIntervalMs=1000"};
    return options;
}

/** docs/zookeeper-protocol.md: a key is cut before the digits that it ends with. */
std::string path_of(std::string const& key)
{
    auto const digits = key.find_last_not_of("0123456789") + 1;
    return "/" + key.substr(0, digits) + "/" + key.substr(digits);
}

KeyLook look_of(std::optional<test::ZookeeperNode> const& node)
{
    KeyLook key;
    // when a session ends is known to the leader alone
    key.expiry_known = false;
    if (!node)
        return key;
    key.held = true;
    key.foreign = node->data == stranger;
    key.endless = node->ephemeral_owner == 0;
    key.fencing_token = static_cast<std::uint64_t>(node->czxid);
    return key;
}

} // namespace

ZookeeperUnderAttack::ZookeeperUnderAttack(Arena const& arena)
    : arena_(arena)
    , ensemble_(ensemble_size, options())
{
    for (std::size_t i = 0; i < ensemble_.size(); ++i)
        networks_.push_back(std::make_unique<Network>(ensemble_.server(i).port(), ensemble_ways));
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
        paths_.push_back(path_of(arena_.key(cell)));
    test::ZookeeperClient{ensemble_.server(0).port()}.create_all(looks_mark);
}

std::string ZookeeperUnderAttack::url(std::size_t worker) const
{
    std::string hosts;
    for (auto const& network : networks_)
        hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(network->port(worker)));
    auto const direct = ensemble_.url();
    return "zookeeper://" + hosts + direct.substr(direct.find('?'));
}

// -- what is there --

std::optional<std::vector<KeyLook>> ZookeeperUnderAttack::look()
try {
    if (!looker_)
        looker_.emplace(ensemble_.server(asked_).port(), std::string(), look_limit);
    std::vector<KeyLook> keys;
    for (auto const& node : looker_->get_after_write(looks_mark, paths_))
        keys.push_back(look_of(node));
    return keys;
} catch (std::exception const&) {
    // stopped, killed, without a majority: there is nothing to see
    looker_.reset();
    asked_ = (asked_ + 1) % ensemble_.size();
    return std::nullopt;
}

std::int64_t ZookeeperUnderAttack::expiry_delay(std::int64_t now) const
{
    auto const left = election_ + 2 * arena_.ttl_ns() - now;
    return election_ != 0 && left > 0 ? left : 0;
}

std::vector<std::string> ZookeeperUnderAttack::endless_keys()
{
    test::ZookeeperClient client{ensemble_.server(0).port()};
    client.sync("/");
    std::vector<std::string> endless;
    for (auto const& parent : client.children("/")) {
        if (!parent.starts_with("faults:"))
            continue;
        for (auto const& child : client.children("/" + parent))
            if (auto const node = client.get("/" + parent + "/" + child); node && node->ephemeral_owner == 0)
                endless.push_back(parent + child);
    }
    return endless;
}

// -- what is done to servers --

/** One leads, and the others follow. */
bool ZookeeperUnderAttack::whole() const
{
    std::size_t leaders = 0;
    std::size_t followers = 0;
    for (std::size_t i = 0; i < ensemble_.size(); ++i) {
        auto const mode = ensemble_.server(i).mode();
        leaders += mode == "leader" ? 1U : 0U;
        followers += mode == "follower" ? 1U : 0U;
    }
    // one that was stopped may believe for a moment that it still leads
    return leaders == 1 && leaders + followers == ensemble_.size();
}

std::vector<test::ZookeeperServer*> ZookeeperUnderAttack::choose(Random& random, Whom whom)
{
    std::optional<std::size_t> leader;
    if (!test::eventually([&] { return (leader = ensemble_.leader()).has_value(); }, recovery_limit, 20ms))
        throw std::runtime_error("no ZooKeeper server leads");
    auto const first = *leader + 1 + random.below(ensemble_.size() - 1);
    auto const count = whom == Whom::all ? ensemble_.size() : whom == Whom::majority ? ensemble_.size() / 2 + 1 : 1;
    std::vector<test::ZookeeperServer*> chosen;
    for (std::size_t i = 0; i < count; ++i)
        chosen.push_back(&ensemble_.server((whom == Whom::follower ? first : *leader + i) % ensemble_.size()));
    return chosen;
}

/** Until the ensemble is whole, and renewals have come through. */
void ZookeeperUnderAttack::recover(Attack& attack)
{
    auto const limit = std::chrono::steady_clock::now() + recovery_limit;
    do {
        attack.wait(50ms);
        if (std::chrono::steady_clock::now() > limit)
            throw std::runtime_error("the ZooKeeper servers do not find together again");
    } while (!whole());
    election_ = boottime_ns();
    attack.wait(arena_.ttl / 4);
}

bool ZookeeperUnderAttack::stop(Attack& attack, std::string const& name, Whom whom, bool briefly)
{
    auto const ttl = arena_.ttl;
    FaultScope const scope{attack.ledger, briefly || whom == Whom::follower ? harmless(name) : disturbing(name)};
    auto const chosen = choose(attack.random, whom);
    election_ = boottime_ns();
    for (auto* const server : chosen)
        server->pause();
    attack.wait(briefly ? attack.random.between(ttl / 16, ttl / 6) : attack.random.between(ttl * 11 / 10, ttl * 9 / 5));
    for (auto* const server : chosen)
        server->resume();
    if (!briefly)
        recover(attack);
    return true;
}

bool ZookeeperUnderAttack::restart(Attack& attack, std::string const& name, Whom whom)
{
    FaultScope const scope{attack.ledger, whom == Whom::follower ? harmless(name) : disturbing(name)};
    auto const chosen = choose(attack.random, whom);
    election_ = boottime_ns();
    for (auto* const server : chosen)
        server->kill();
    attack.wait(attack.random.between(0ms, arena_.ttl));
    for (auto* const server : chosen)
        server->start();
    recover(attack);
    return true;
}

Disturbance ZookeeperUnderAttack::on_network(std::size_t kind)
{
    auto like = networks_.front()->disturbances()[kind];
    return {like.name + ", one server", like.often, [this, kind](Attack& attack) {
                return networks_[attack.random.below(networks_.size())]->disturbances()[kind].strike(attack);
            }};
}

std::vector<Disturbance> ZookeeperUnderAttack::disturbances()
{
    auto const stopping = [this](std::string const& name, unsigned often, Whom whom, bool briefly) {
        return Disturbance{
            name, often, [this, name, whom, briefly](Attack& attack) { return stop(attack, name, whom, briefly); }};
    };
    auto const restarting = [this](std::string const& name, unsigned often, Whom whom) {
        return Disturbance{name, often, [this, name, whom](Attack& attack) { return restart(attack, name, whom); }};
    };
    auto const robbing = [this](std::string const& name, Deed deed) {
        return Disturbance{name, 2, [this, name, deed](Attack& attack) { return rob(attack, name, deed); }};
    };
    std::vector<Disturbance> all{
        stopping("follower stopped for more than G", 2, Whom::follower, false),
        stopping("leader stopped for more than G", 3, Whom::leader, false),
        stopping("majority stopped for more than G", 2, Whom::majority, false),
        stopping("all servers stopped for less than G/6", 2, Whom::all, true),
        restarting("follower killed and restarted", 2, Whom::follower),
        restarting("leader killed and restarted", 3, Whom::leader),
        restarting("majority killed and restarted", 1, Whom::majority),
        restarting("all servers killed and restarted", 1, Whom::all),
        robbing("node deleted by a stranger", Deed::remove),
        robbing("node replaced by a stranger's", Deed::replace),
        robbing("node overwritten by a stranger", Deed::overwrite),
        {"session closed by a stranger", 2, [this](Attack& attack) { return close_session(attack); }},
    };
    for (std::size_t kind = 0; kind < networks_.front()->disturbances().size(); ++kind)
        all.push_back(on_network(kind));
    return all;
}

} // namespace tenure::faults
