// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "zookeeper_under_attack.hpp"

#include "stranger.hpp"

#include "harness/eventually.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;

namespace
{

constexpr std::size_t ensemble_size = 3;
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

/** docs/integrators/zookeeper-protocol.md: a key is cut before the digits that it ends with. */
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
    : ConsensusUnderAttack(arena, "server")
    , ensemble_(ensemble_size, options())
{
    for (std::size_t i = 0; i < ensemble_.size(); ++i)
        add_member(ensemble_.server(i).port());
    for (std::uint32_t cell = 0; cell < arena.cells(); ++cell)
        paths_.push_back(path_of(arena.key(cell)));
    test::ZookeeperClient{ensemble_.server(0).port()}.create_all(looks_mark);
}

std::string ZookeeperUnderAttack::url(std::size_t worker) const
{
    auto const direct = ensemble_.url();
    return "zookeeper://" + hosts(worker) + direct.substr(direct.find('?'));
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

std::size_t ZookeeperUnderAttack::leader()
{
    std::optional<std::size_t> leader;
    if (!test::eventually([&] { return (leader = ensemble_.leader()).has_value(); }, recovery_limit, 20ms))
        throw std::runtime_error("no ZooKeeper server leads");
    return *leader;
}

void ZookeeperUnderAttack::await_whole(Attack& attack)
{
    auto const limit = std::chrono::steady_clock::now() + recovery_limit;
    do {
        attack.wait(50ms);
        if (std::chrono::steady_clock::now() > limit)
            throw std::runtime_error("the ZooKeeper servers do not find together again");
    } while (!whole());
}

std::vector<Disturbance> ZookeeperUnderAttack::disturbances()
{
    auto const robbing = [this](std::string const& name, Deed deed) {
        return Disturbance{name, 2, [this, name, deed](Attack& attack) { return rob(attack, name, deed); }};
    };
    auto all = common_disturbances();
    all.push_back(robbing("node deleted by a stranger", Deed::remove));
    all.push_back(robbing("node replaced by a stranger's", Deed::replace));
    all.push_back(robbing("node overwritten by a stranger", Deed::overwrite));
    all.push_back({"session closed by a stranger", 2, [this](Attack& attack) { return close_session(attack); }});
    return all;
}

} // namespace tenure::faults
