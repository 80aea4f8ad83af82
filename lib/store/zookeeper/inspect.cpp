// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and eviction on ZooKeeper.
#include "operations.hpp"
#include "shares.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

void describe_holder(KeyState& state, Response const& read)
{
    auto const value = decode(read.data);
    state.kind = read.stat.ephemeral_owner == 0 ? KeyState::Kind::foreign : KeyState::Kind::held;
    state.owner = value.owner;
    // the full ttl, while its session is renewed
    state.remaining = value.ttl;
    state.fencing_token = static_cast<std::uint64_t>(read.stat.czxid);
}

} // namespace

store::Request<InspectReply> inspect(EnsemblePtr ensemble, InspectRequest request)
{
    auto const& range = request.range;
    auto const& not_after = request.not_after;
    if (range->shares) {
        auto places = as_step(inspect_places(ensemble, range, not_after));
        auto reply = co_await places;
        co_return reply;
    }
    auto const nodes = ensemble->nodes(*range);
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, not_after);
    if (auto const why = co_await connection)
        co_return *why;

    sync(*session, nodes.parent());
    auto list = ask(session, {Request::Kind::children, nodes.parent()});
    auto const listed = co_await list;
    if (listed.code != ZOK && listed.code != ZNONODE)
        co_return ensemble->failure(listed, range->describe());

    std::vector<KeyState> states(range->count);
    for (std::uint32_t i = 0; i < range->count; ++i)
        states[i].index = i;
    // indexes of the keys that have a node
    std::vector<std::uint32_t> present;
    for (auto const& name : listed.children)
        if (auto const index = nodes.index_of(name)) {
            states[*index].kind = KeyState::Kind::held;
            present.push_back(*index);
        }
    if (request.names_only && range->numbered)
        co_return std::move(states);
    auto read = store::all_of<Response>(present.size(), [&](std::size_t i, ResponseHandler handler) {
        session->ask({Request::Kind::get, nodes.path(present[i])}, std::move(handler));
    });
    auto const holders = co_await read;

    for (std::size_t i = 0; i < holders.size(); ++i)
        if (holders[i].code == ZOK)
            describe_holder(states[present[i]], holders[i]);
        else if (holders[i].code == ZNONODE)
            states[present[i]].kind = KeyState::Kind::free;
        else
            co_return ensemble->failure(holders[i], range->describe());
    if (!range->numbered && states.front().kind == KeyState::Kind::free) {
        auto places = as_step(inspect_places(ensemble, shared_key(range->prefix), not_after));
        auto reply = co_await places;
        co_return reply;
    }
    co_return std::move(states);
}

/** Reads the node, and replaces its owner in a transaction that compares. If a key of the same generation has been
 *  claimed meanwhile, possibly this one, it is read again. */
store::Request<EvictReply> evict(EnsemblePtr ensemble, EvictRequest request)
{
    if (request.range->shares) {
        auto places = as_step(evict_place(ensemble, std::move(request)));
        auto reply = co_await places;
        co_return reply;
    }
    auto const nodes = ensemble->nodes(*request.range);
    auto const path = nodes.path(request.index);
    auto const generation = nodes.generation(request.index);
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, request.not_after);
    if (auto const why = co_await connection)
        co_return *why;

    for (;;) {
        sync(*session, path);
        auto read = read_node(session, path, generation, false);
        auto const seen = co_await read;
        if (auto const* const failed = seen.failure())
            co_return ensemble->failure(*failed, *request.range, request.index);
        auto const value = decode(seen.node.data);
        if (seen.node.code == ZNONODE || value.owner != request.owner)
            co_return NotOwner{};

        auto replace =
            ask(session, {Request::Kind::set, path, encode("evicted/" + request.evicted_by, value.ttl),
                          seen.node.stat.version, false, generation, seen.generation_version()});
        auto const replaced = co_await replace;
        if (replaced.code == ZOK)
            co_return Evicted{value.ttl};
        if (replaced.code != ZBADVERSION && replaced.code != ZNONODE)
            co_return ensemble->failure(replaced, *request.range, request.index);
        if (!replaced.of_generation)
            co_return NotOwner{};
        if (request.not_after.over(ensemble->runtime().now()))
            co_return Failure::dropped();
    }
}

} // namespace tenure::zookeeper
