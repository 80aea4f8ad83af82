// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Listing of keys on ZooKeeper.
#include "operations.hpp"
#include "store/zookeeper/session/steps.hpp"
#include "store/zookeeper/znodes.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/// nodes whose children are read at once
constexpr std::size_t nodes_at_once = 256;

/** A node below which keys with the prefix may be. */
struct Parent {
    std::string path;
    std::string begin;
};

std::vector<Parent>
parents_of(std::string const& chroot, std::vector<std::string> const& nodes, std::string const& prefix)
{
    std::vector<Parent> parents;
    for (auto const& node : nodes)
        if (auto const begin = begin_of_keys(node);
            begin && node != "zookeeper" && (begin->starts_with(prefix) || prefix.starts_with(*begin)))
            parents.push_back({chroot + "/" + node, *begin});
    return parents;
}

} // namespace

store::Request<ListReply> list(EnsemblePtr ensemble, ListRequest request)
{
    auto const& chroot = ensemble->config().chroot;
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, request.not_after);
    if (auto const why = co_await connection)
        co_return *why;

    auto const top = chroot.empty() ? std::string("/") : chroot;
    sync(*session, top);
    auto read_top = ask(session, {Request::Kind::children, top});
    auto const nodes = co_await read_top;
    KeyList list;
    if (nodes.code == ZNONODE)
        co_return std::move(list);
    if (nodes.code != ZOK)
        co_return ensemble->failure(nodes, "the nodes below " + top);
    auto const parents = parents_of(chroot, nodes.children, request.prefix);
    for (std::size_t next = 0; next < parents.size() && !list.more; next += nodes_at_once) {
        auto const count = std::min(nodes_at_once, parents.size() - next);
        auto read = store::all_of<Response>(count, [&](std::size_t i, ResponseHandler handler) {
            session->ask({Request::Kind::children, parents[next + i].path}, std::move(handler));
        });
        auto const found = co_await read;
        for (std::size_t i = 0; i < count; ++i) {
            // a node that this user may not read, or that is gone
            list.more = list.more || (found[i].code != ZOK && found[i].code != ZNONODE);
            for (auto const& child : found[i].children)
                if (auto key = key_of_child(parents[next + i].begin, child); key && key->starts_with(request.prefix))
                    list.keys.push_back(std::move(*key));
        }
        bool const stops = list.keys.size() >= request.most || request.not_after.over(ensemble->runtime().now());
        list.more = list.more || (stops && next + count < parents.size());
    }
    // a key that is held in places is named once
    std::ranges::sort(list.keys);
    auto const repeated = std::ranges::unique(list.keys);
    list.keys.erase(repeated.begin(), repeated.end());
    co_return std::move(list);
}

} // namespace tenure::zookeeper
