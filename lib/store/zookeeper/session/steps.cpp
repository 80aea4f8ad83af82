// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests of a session as steps for coroutines.
#include "steps.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace tenure::zookeeper
{

store::Step<std::optional<Failure>> connect(SessionPtr const& session, Deadline not_after)
{
    return store::Step<std::optional<Failure>>(
        [session, not_after = std::move(not_after)](OneShot<void(std::optional<Failure>&&)> handler) mutable {
            session->when_connected(std::move(not_after), [handler = std::move(handler)](Failure const* why) mutable {
                handler(why == nullptr ? std::nullopt : std::optional(*why));
            });
        });
}

store::Step<Response> ask(SessionPtr const& session, Request request, Terms terms)
{
    return store::Step<Response>(
        [session, request = std::move(request), terms = std::move(terms)](OneShot<void(Response&&)> handler) mutable {
            session->ask(
                std::move(request),
                [handler = std::move(handler)](Response const& response) mutable { handler(Response(response)); },
                std::move(terms));
        });
}

void sync(Session& session, std::string const& path, Terms terms)
{
    session.ask({Request::Kind::sync, path}, [](Response const&) {}, std::move(terms));
}

Response const* NodeSnapshot::failure() const
{
    if (!is_answered(write.code))
        return &write;
    if (node.code != ZOK && node.code != ZNONODE)
        return &node;
    // Without a node no generation is needed. Without a generation no tenure client has claimed the key.
    if (node.code == ZOK && generation.code != ZOK && generation.code != ZNONODE)
        return &generation;
    return nullptr;
}

std::optional<std::int32_t> NodeSnapshot::generation_version() const
{
    // -1 would mean any version; the next claim ends that
    return generation.code != ZOK || generation.stat.version == -1 ? std::nullopt
                                                                   : std::optional(generation.stat.version);
}

store::Step<NodeSnapshot>
read_node(SessionPtr const& session, std::string path, std::string generation, bool after_write)
{
    return store::Step<NodeSnapshot>([session, path = std::move(path), generation = std::move(generation),
                                      after_write](OneShot<void(NodeSnapshot&&)> handler) mutable {
        auto const snapshot = std::make_shared<NodeSnapshot>();
        if (after_write)
            session->write([snapshot](Response const& response) { snapshot->write = response; });
        // a place has none
        snapshot->generation.code = ZNONODE;
        if (!generation.empty())
            session->ask({Request::Kind::get, std::move(generation)}, [snapshot](Response const& response) {
                snapshot->generation = response;
                snapshot->generation.of_generation = response.code != ZOK;
            });
        session->ask(
            {Request::Kind::get, std::move(path)},
            [snapshot, handler = std::move(handler)](Response const& response) mutable {
                snapshot->node = response;
                handler(std::move(*snapshot));
            });
    });
}

store::Step<Response> find_place(SessionPtr const& session, std::string begin)
{
    return store::Step<Response>([session, begin = std::move(begin)](OneShot<void(Response&&)> handler) mutable {
        auto const written = std::make_shared<Response>();
        session->write([written](Response const& response) { *written = response; });
        auto const slash = begin.rfind('/');
        Request list{Request::Kind::children, begin.substr(0, slash)};
        session->ask(
            std::move(list),
            [written, slash, begin = std::move(begin), handler = std::move(handler)](Response const& listed) mutable {
                auto found = is_answered(written->code) ? listed : *written;
                auto const name = std::ranges::find_if(found.children, [&](std::string const& child) {
                    return child.starts_with(std::string_view(begin).substr(slash + 1));
                });
                if (name != found.children.end())
                    found.path = begin.substr(0, slash + 1) + *name;
                else if (found.code == ZOK)
                    found.code = ZNONODE;
                handler(std::move(found));
            });
    });
}

namespace
{

/** Creates a node, and missing nodes above it. */
store::Request<Response> create(SessionPtr session, Request::Kind kind, std::string path, Terms terms)
{
    auto creation = ask(session, {kind, path}, terms);
    auto created = co_await creation;
    auto const parent = path.substr(0, path.rfind('/'));
    if (created.code != ZNONODE || parent.empty())
        co_return created;
    auto above = store::as_step(create(session, Request::Kind::create_persistent, parent, terms));
    auto made = co_await above;
    if (!made.exists())
        co_return made;
    auto again = ask(session, {kind, path}, terms);
    co_return co_await again;
}

} // namespace

store::Request<Response> create_parent(SessionPtr session, std::string path, Terms terms)
{
    return create(std::move(session), Request::Kind::create_container, std::move(path), std::move(terms));
}

store::Request<Response> create_generation(SessionPtr session, std::string path, Terms terms)
{
    auto creation =
        store::as_step(create(std::move(session), Request::Kind::create_persistent, std::move(path), std::move(terms)));
    auto created = co_await creation;
    created.of_generation = !created.exists();
    co_return created;
}

} // namespace tenure::zookeeper
