// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Ensemble: its sessions, and the parents of keys.
#include "ensemble.hpp"

#include <utility>

namespace tenure::zookeeper
{

Ensemble::Ensemble(std::shared_ptr<Runtime> runtime, ZookeeperConfig config, std::string name)
    : runtime_(std::move(runtime))
    , config_(std::make_shared<ZookeeperConfig const>(std::move(config)))
    , name_(std::move(name))
    , registry_(std::make_shared<NodeRegistry>(runtime_))
{
}

SessionPtr Ensemble::make(Session::Settings settings)
{
    auto session = std::make_shared<Session>(runtime_, config_, std::move(settings));
    if (closed_)
        session->close(false);
    std::erase_if(sessions_, [](auto const& other) { return other.expired(); });
    sessions_.push_back(session);
    return session;
}

SessionPtr Ensemble::lease_session(std::chrono::milliseconds ttl)
{
    auto& session = lease_sessions_[ttl];
    if (session == nullptr) {
        session = make({name_, ttl, false});
        session->on_event([weak = weak_from_this()](Session const& of, SessionEvent const& event) {
            if (auto const self = weak.lock())
                self->on_event(of, event.kind);
        });
    }
    return session;
}

SessionPtr Ensemble::query_session()
{
    if (query_session_ == nullptr)
        query_session_ = make({name_ + " (queries)", config_->tick * 10, true});
    return query_session_;
}

SessionPtr Ensemble::probe(std::chrono::milliseconds timeout)
{
    return make({name_ + " (probe)", timeout, true});
}

void Ensemble::on_event(Session const& session, SessionEvent::Kind kind)
{
    if (kind == SessionEvent::Kind::expired)
        registry_->session_expired(session.id());
    // also after an expiry: the leases are lost, and their holders learn it from the next request
    if (kind != SessionEvent::Kind::disconnected && reachable_)
        reachable_();
}

std::vector<SessionPtr> Ensemble::sessions() const
{
    std::vector<SessionPtr> all;
    for (auto const& weak : sessions_)
        if (auto session = weak.lock())
            all.push_back(std::move(session));
    return all;
}

void Ensemble::drop_abandoned()
{
    for (auto const& session : sessions())
        session->drop_abandoned();
}

void Ensemble::close() noexcept
{
    closed_ = true;
    // nodes that leases may still rely on stay until the session's timeout
    for (auto const& session : sessions())
        session->close(!registry_->holds_any(session->id()));
    registry_->close();
}

namespace
{

/** Creates a node, and missing nodes above it. */
void create(SessionPtr const& session, Request const& node, ResponseHandler handler)
{
    session->ask(node, [session, node, handler = std::move(handler)](Response const& response) mutable {
        auto const& path = node.path;
        auto const parent = path.substr(0, path.rfind('/'));
        if (response.code != ZNONODE || parent.empty()) {
            handler(response);
            return;
        }
        create(
            session, {Request::Kind::create_persistent, parent},
            [session, node, handler = std::move(handler)](Response const& created) mutable {
                if (created.exists())
                    session->ask(node, std::move(handler));
                else
                    handler(created);
            });
    });
}

} // namespace

void create_parent(SessionPtr const& session, std::string const& path, ResponseHandler handler)
{
    create(session, {Request::Kind::create_container, path}, std::move(handler));
}

void create_generation(SessionPtr const& session, std::string const& path, ResponseHandler handler)
{
    create(session, {Request::Kind::create_persistent, path}, [handler = std::move(handler)](Response created) mutable {
        created.of_generation = !created.exists();
        handler(created);
    });
}

} // namespace tenure::zookeeper
