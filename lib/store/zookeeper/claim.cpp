// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims on ZooKeeper: creation of the node of a key.
#include "attempt.hpp"
#include "operations.hpp"
#include "shares.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/// limit of keys of a pool that are read to find one that can expire
constexpr std::uint32_t busy_keys_read = 64;

ClaimReply granted(Attempt const& attempt, OwnedNodePtr node, Response const& response)
{
    // A repeated claim may find one node twice. Only one entry may remain, because the other would not be renewed and
    // expire.
    auto const& request = attempt.request;
    auto& registry = attempt.ensemble->registry();
    if (auto other = registry.holder_of(request.owner, node->path, response.stat.czxid);
        other != nullptr && other != node) {
        registry.remove(*node);
        node = std::move(other);
    }
    if (node->state == OwnedNode::State::gone) {
        // the session expired before the response was delivered
        if (response.stat.ephemeral_owner != attempt.session->id())
            return Failure::unknown(
                errc::store_unavailable, attempt.ensemble->name() + ": " + node->path + ": the session expired");
        // the other claim gave the node up as taken before this one created it
        node = attempt.add(node->index);
    }
    node->state = OwnedNode::State::held;
    // a read of the node says nothing about its generation
    if (response.generation_version || node->czxid != response.stat.czxid)
        node->generation_version = response.generation_version;
    node->czxid = response.stat.czxid;
    node->session_id = node->session->id();
    Granted granted;
    granted.index = node->index;
    granted.fencing_token = request.fencing ? static_cast<std::uint64_t>(response.stat.czxid) : 0;
    granted.ttl = node->session->timeout();
    granted.since = node->session->proven();
    granted.handle = node;
    registry.extend(*node, granted.since + granted.ttl);
    return granted;
}

store::Request<Response> create_missing(Attempt const& attempt, OwnedNode const& node, bool generation)
{
    auto terms = attempt.terms(Urgency::later_step);
    return generation ? create_generation(attempt.session, node.generation, std::move(terms))
                      : create_parent(attempt.session, attempt.nodes.parent(), std::move(terms));
}

/** Creates a node that the owner may already have. If the creation is refused because the node exists, the leader has
 *  decided that, so the following read is not stale. */
store::Request<EarlyReply> create(AttemptPtr attempt, OwnedNodePtr node)
{
    auto const& request = attempt->request;
    auto const& session = attempt->session;
    auto& registry = attempt->ensemble->registry();
    for (;;) {
        if (request.not_after.over(attempt->ensemble->runtime().now())) {
            attempt->forget(*node);
            auto turn = store::next_turn(attempt->ensemble->runtime());
            co_await turn;
            co_return Failure::dropped();
        }
        registry.begin_creating(*node);
        Request claim{Request::Kind::claim, node->path, encode(request.owner, session->timeout())};
        claim.generation = node->generation;
        auto creation = ask(session, std::move(claim), attempt->next_terms());
        auto created = co_await creation;
        if (created.code == ZNODEEXISTS) {
            auto read = ask(session, {Request::Kind::get, node->path}, attempt->next_terms());
            auto const found = co_await read;
            registry.end_creating(*node);
            if (found.code == ZOK && node->still_owned(found))
                co_return granted(*attempt, node, found);
            if (found.code == ZNONODE && attempt->tolerates_surprise())
                continue;
            if (found.code == ZOK || found.code == ZNONODE || found.code == ZNOAUTH) {
                attempt->foreign = found.code == ZOK && found.stat.ephemeral_owner == 0;
                registry.remove(*node);
                co_return std::nullopt;
            }
            // the node existed before
            attempt->forget(*node);
            co_return attempt->failed_read(found, request.range->key(node->index));
        }
        registry.end_creating(*node);
        if (created.code == ZOK)
            co_return granted(*attempt, node, created);
        if (created.code == ZNONODE) {
            auto missing = store::as_step(create_missing(*attempt, *node, created.of_generation));
            created = co_await missing;
            if (created.exists() && attempt->tolerates_surprise())
                continue;
        }
        auto failure = attempt->ensemble->failure(created, *request.range, node->index);
        if (!failure.may_take_effect())
            attempt->forget(*node);
        co_return failure;
    }
}

/** All keys are held. A node without a session never expires, so it searches for a node that can. */
store::Request<ClaimReply> reply_busy(AttemptPtr attempt)
{
    auto const& range = *attempt->request.range;
    for (std::uint32_t index = 0; index < std::min(range.count, busy_keys_read); ++index) {
        auto read = ask(attempt->session, {Request::Kind::get, attempt->nodes.path(index)}, attempt->next_terms());
        auto const found = co_await read;
        if (found.code == ZOK && found.stat.ephemeral_owner == 0)
            continue;
        if (found.code == ZOK || found.code == ZNONODE || found.code == ZNOAUTH)
            co_return Busy{std::nullopt, false};
        co_return attempt->failed_read(found, range.describe());
    }
    co_return Busy{std::nullopt, range.count <= busy_keys_read};
}

/** Claims a key of a pool: the first that has no node in a list of the children, on a collision the next. */
store::Request<ClaimReply> claim_of_pool(AttemptPtr attempt)
{
    auto const& range = *attempt->request.range;
    auto const& nodes = attempt->nodes;
    // both are the first step
    sync(*attempt->session, nodes.parent(), attempt->terms(Urgency::first_step));
    auto list = ask(attempt->session, {Request::Kind::children, nodes.parent()}, attempt->next_terms());
    auto const listed = co_await list;
    if (listed.code != ZOK && listed.code != ZNONODE)
        co_return attempt->failed_read(listed, range.describe());
    std::vector<bool> taken(range.count);
    for (auto const& name : listed.children)
        if (auto const index = nodes.index_of(name))
            taken[*index] = true;
    for (std::uint32_t index = 0; index < range.count; ++index)
        if (!taken[index] && !attempt->ensemble->registry().creating(nodes.path(index))) {
            auto creation = store::as_step(create(attempt, attempt->add(index)));
            if (auto reply = co_await creation)
                co_return std::move(*reply);
        }
    auto busy = store::as_step(reply_busy(attempt));
    co_return co_await busy;
}

/** Tries the nodes of earlier attempts, then those keys that seem to be free. */
store::Request<ClaimReply> claim_in_steps(AttemptPtr attempt)
{
    auto const& request = attempt->request;
    auto wait = store::as_step(wait_for_turn(attempt));
    if (auto reply = co_await wait)
        co_return std::move(*reply);
    // only this process can have created nodes for the owner
    std::vector<OwnedNodePtr> earlier;
    if (request.earliest_attempt)
        earlier = attempt->ensemble->registry().find_all(request.owner, *request.range);
    for (; !earlier.empty(); earlier.pop_back())
        if (earlier.back()->state != OwnedNode::State::gone) {
            auto creation = store::as_step(create(attempt, earlier.back()));
            if (auto reply = co_await creation)
                co_return std::move(*reply);
        }
    if (request.range->count > 1) {
        auto pool = store::as_step(claim_of_pool(attempt));
        co_return co_await pool;
    }
    auto creation = store::as_step(create(attempt, attempt->add(0)));
    if (auto reply = co_await creation)
        co_return std::move(*reply);
    co_return Busy{std::nullopt, attempt->foreign};
}

} // namespace

store::Request<EarlyReply> wait_for_turn(AttemptPtr attempt)
{
    auto const& session = attempt->session;
    for (;;) {
        if (!session->connected()) {
            auto connection = connect(session, attempt->request.not_after);
            if (auto const why = co_await connection)
                co_return *why;
        }
        auto turn = session->claims().turn(attempt->request.not_after);
        auto place = co_await turn;
        if (session->connected()) {
            attempt->place = std::move(place);
            co_return std::nullopt;
        }
        // the connection was lost while it waited: others may have the place
    }
}

void claim(EnsemblePtr ensemble, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    auto const attempt = std::make_shared<Attempt>(std::move(ensemble), std::move(request));
    auto steps = attempt->request.share ? claim_place(attempt) : claim_in_steps(attempt);
    std::move(steps).start([attempt, handler = std::move(handler)](ClaimReply reply) mutable {
        attempt->end();
        handler(std::move(reply));
    });
}

} // namespace tenure::zookeeper
