// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Release and withdrawal on ZooKeeper: conditional removal of nodes.
#include "operations.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <store/not_written.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace tenure::zookeeper
{

namespace
{

/// If other keys of a generation are claimed in each round trip, a lease could never be released. After this many
/// attempts a removal checks only the node.
constexpr int generations_missed_at_most = 8;

Failure failure(Ensemble const& ensemble, OwnedNode const& node, Response const& response)
{
    return ensemble.failure(response, *node.range, node.index);
}

/** True if the facts from the time of the claim suffice to remove the node.
 *
 *  Names of places are never used again. While the generation of another key is that of the claim, no client that
 * follows the protocol has claimed the key since. A node created by other software has another version, unless it was
 * written to exactly once. */
bool is_known(OwnedNode const& node)
{
    bool const unchanged = node.generation_version || node.range->shares;
    return node.state == OwnedNode::State::held && unchanged && !node.removal_unknown;
}

/** The reply to the removal of a node that was read; nullopt: it is still to be removed. */
std::optional<ReleaseReply> judge(Ensemble const& ensemble, OwnedNode& node, NodeSnapshot const& seen)
{
    auto const* const failed = seen.failure();
    if (node.state == OwnedNode::State::gone || (failed == nullptr && seen.node.code == ZNONODE)) {
        ensemble.registry().remove(node);
        return NotOwner{};
    }
    if (failed != nullptr)
        return not_written(failure(ensemble, node, *failed));
    if (node.still_owned(seen.node))
        return std::nullopt;
    // an evicted node must still be removed, when its lease has expired
    if (!node.matches(seen.node))
        ensemble.registry().remove(node);
    return NotOwner{};
}

/** The reply to the deletion of a node; nullopt: another key of its generation was claimed, or the node evicted, in
 * this moment. */
std::optional<ReleaseReply> reply_to(Ensemble const& ensemble, OwnedNode const& node, Response const& removed)
{
    if (removed.code == ZOK)
        return Released{};
    if (removed.code == ZBADVERSION || (removed.code == ZNONODE && removed.of_generation))
        return std::nullopt;
    if (removed.code == ZNONODE)
        return NotOwner{};
    return failure(ensemble, node, removed);
}

/** Finds the name of a place whose creation was not answered. Otherwise the reply to its removal. */
store::Request<std::optional<ReleaseReply>> find_name(EnsemblePtr ensemble, OwnedNodePtr node)
{
    auto search = find_place(node->session, node->path);
    auto const found = co_await search;
    if (found.code == ZNONODE) {
        ensemble->registry().remove(*node);
        co_return NotOwner{};
    }
    if (found.code != ZOK)
        co_return not_written(failure(*ensemble, *node, found));
    node->path = found.path;
    co_return std::nullopt;
}

} // namespace

store::Request<ReleaseReply> remove_in_steps(EnsemblePtr ensemble, OwnedNodePtr node, Instant not_after)
{
    auto& runtime = ensemble->runtime();
    auto const is_gone = [&] { return node->state == OwnedNode::State::gone; };
    bool begins = true;
    // facts from the time of the claim are outdated, so the node is read first
    bool read_first = false;
    int generations_missed = 0;
    for (;;) {
        bool const ready = !is_gone() && node->session->connected() && runtime.now() <= not_after;
        if (std::exchange(begins, false) && !ready) {
            auto connection = connect(node->session, not_after);
            auto const why = co_await connection;
            if (is_gone())
                co_return NotOwner{};
            if (why)
                co_return *why;
        }
        if (node->unnamed()) {
            auto search = as_step(find_name(ensemble, node));
            auto reply = co_await search;
            if (reply)
                co_return std::move(*reply);
        }
        NodeRegistry::Condition condition{node->generation_version, node->range->shares ? 0 : claimed_version};
        if (read_first || !is_known(*node)) {
            read_first = true;
            // A creation or a removal with an unknown outcome may reach this server late. After a write on the current
            // connection none can be pending, so the read shows which client has the key.
            bool const after_write = node->czxid == 0 || node->removal_unknown;
            auto read = read_node(node->session, node->path, node->generation, after_write);
            auto const seen = co_await read;
            if (auto reply = judge(*ensemble, *node, seen))
                co_return std::move(*reply);
            bool const in_vain = generations_missed >= generations_missed_at_most;
            condition = {in_vain ? std::nullopt : seen.generation_version(), seen.node.stat.version};
        }
        if (runtime.now() > not_after) {
            // never inside the call that requests the removal
            auto turn = store::next_turn(runtime);
            co_await turn;
            co_return Failure::dropped();
        }

        auto deletion = ensemble->registry().delete_node(node, condition);
        auto const removed = co_await deletion;
        begins = !removed;
        if (begins)
            continue;
        if (auto reply = reply_to(*ensemble, *node, *removed))
            co_return std::move(*reply);
        read_first = true;
        generations_missed += removed->of_generation ? 1 : 0;
    }
}

void release(EnsemblePtr const& ensemble, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    ensemble->give_back(request.claim->owner);
    auto node = ensemble->registry().find(*request.claim);
    if (node == nullptr)
        ensemble->runtime().post([handler = std::move(handler)]() mutable { handler(NotOwner{}); });
    else
        remove_in_steps(ensemble, std::move(node), request.not_after).start(std::move(handler));
}

/** Removes nodes of one owner, one after another. All are tried; the reply is the first failure. */
store::Request<WithdrawReply> withdraw(EnsemblePtr ensemble, WithdrawRequest request)
{
    ensemble->give_back(request.owner);
    auto nodes = ensemble->registry().find_all(request.owner, *request.range);
    auto turn = store::next_turn(ensemble->runtime());
    co_await turn;
    WithdrawReply reply = Released{};
    for (; !nodes.empty(); nodes.pop_back()) {
        auto removal = store::as_step(remove_in_steps(ensemble, nodes.back(), request.not_after));
        auto removed = co_await removal;
        if (auto* const failure = std::get_if<Failure>(&removed);
            failure != nullptr && std::holds_alternative<Released>(reply))
            reply = std::move(*failure);
    }
    co_return std::move(reply);
}

} // namespace tenure::zookeeper
