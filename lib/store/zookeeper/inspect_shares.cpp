// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and eviction of places.
#include "place_line.hpp"
#include "shares.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <store/share_sum.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

store::Request<InspectReply> inspect_places(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after)
{
    auto const parent = ensemble->nodes(*range).parent();
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, std::move(not_after));
    if (auto const why = co_await connection)
        co_return *why;
    sync(*session, parent);
    auto list = ask(session, {Request::Kind::children, parent});
    auto const listed = co_await list;
    if (listed.code != ZOK && listed.code != ZNONODE)
        co_return ensemble->failure(listed, range->describe());
    PlaceLine const line(listed.children);
    auto read = store::all_of<Response>(line.size(), [&](std::size_t i, ResponseHandler handler) {
        session->ask({Request::Kind::get, parent + '/' + std::string(line.name(i))}, std::move(handler));
    });
    auto const found = co_await read;
    KeyState state;
    ShareSum sum;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].code == ZNONODE)
            continue;
        if (found[i].code != ZOK)
            co_return ensemble->failure(found[i], range->describe());
        auto const value = decode(found[i].data);
        auto const number = static_cast<std::uint64_t>(found[i].stat.czxid);
        if (state.places.empty()) {
            state.kind = KeyState::Kind::held;
            state.owner = value.owner;
            state.remaining = value.ttl;
            state.fencing_token = number;
        }
        auto const share = line.share(i);
        state.places.push_back(
            {value.owner, share.weight, share.capacity, number, value.ttl.value_or(std::chrono::milliseconds{0}),
             sum.add(share)});
    }
    co_return std::vector{std::move(state)};
}

/** Replaces the owner first. A place that waits by a later list has never held, and never will. */
store::Request<EvictReply> evict_place(EnsemblePtr ensemble, EvictRequest request)
{
    auto const parent = ensemble->nodes(*request.range).parent();
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, request.not_after);
    if (auto const why = co_await connection)
        co_return *why;
    auto const& key = request.range->prefix;
    sync(*session, parent);
    auto list = ask(session, {Request::Kind::children, parent});
    auto const listed = co_await list;
    auto read = store::all_of<Response>(listed.children.size(), [&](std::size_t i, ResponseHandler handler) {
        session->ask({Request::Kind::get, parent + '/' + listed.children[i]}, std::move(handler));
    });
    auto const found = co_await read;
    auto const held = std::ranges::find_if(
        found, [&](Response const& node) { return node.code == ZOK && decode(node.data).owner == request.owner; });
    if (listed.code != ZOK && listed.code != ZNONODE)
        co_return ensemble->failure(listed, key);
    if (held == found.end())
        co_return NotOwner{};
    auto const& name = listed.children[static_cast<std::size_t>(held - found.begin())];
    auto const ttl = decode(held->data).ttl;
    Request exchange{Request::Kind::set, parent + '/' + name, encode("evicted/" + request.evicted_by, ttl)};
    exchange.version = held->stat.version;
    auto replace = ask(session, std::move(exchange));
    auto const replaced = co_await replace;
    if (replaced.code == ZBADVERSION || replaced.code == ZNONODE)
        co_return NotOwner{};
    if (replaced.code != ZOK)
        co_return ensemble->failure(replaced, key);
    auto list_again = ask(session, {Request::Kind::children, parent});
    auto const later = co_await list_again;
    PlaceLine const line(later.children);
    auto const at = line.find(name);
    if (at == line.size() || line.holds(at))
        co_return Evicted{ttl};
    auto end = ask(session, {Request::Kind::remove, parent + '/' + name});
    auto const ended = co_await end;
    if (ended.code != ZOK && ended.code != ZNONODE)
        co_return ensemble->failure(ended, key);
    co_return Evicted{std::chrono::milliseconds{0}};
}

} // namespace tenure::zookeeper
