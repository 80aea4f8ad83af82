// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Ensemble: its sessions, and the parents of keys.
#include "ensemble.hpp"

#include "runtime/if_alive.hpp"
#include "store/zookeeper/client/client.hpp"

#include <utility>

namespace tenure::zookeeper
{

Ensemble::Ensemble(std::shared_ptr<Runtime> runtime, ZookeeperConfig config, std::string name, MakeLink make_link)
    : runtime_(std::move(runtime))
    , config_(std::make_shared<ZookeeperConfig const>(std::move(config)))
    , name_(std::move(name))
    , make_link_(std::move(make_link))
    , registry_(std::make_shared<NodeRegistry>(runtime_))
{
    if (make_link_ == nullptr)
        make_link_ = [runtime = runtime_,
                      limit = config_->connect_timeout](LinkSettings const& settings, LinkListener& listener) {
            return std::make_shared<Client>(runtime, settings, limit, listener);
        };
}

SessionPtr Ensemble::make(Session::Settings settings)
{
    auto session = std::make_shared<Session>(runtime_, config_, make_link_, std::move(settings));
    if (closed_)
        session->close(false);
    std::erase_if(sessions_, [](auto const& other) { return other.expired(); });
    sessions_.push_back(session);
    return session;
}

SessionPtr Ensemble::lease_session(std::chrono::milliseconds ttl, std::size_t bytes)
{
    // there are hardly more than a server allows connections from one address
    auto& sessions = lease_sessions_[ttl];
    SessionPtr found;
    for (auto const& session : sessions) {
        if (!session->room().fits(bytes))
            continue;
        if (session->connected())
            return session;
        if (found == nullptr)
            found = session;
    }
    if (found != nullptr)
        return found;
    auto session = make({name_, ttl, false});
    session->on_event(if_alive(weak_from_this(), &Ensemble::on_event));
    sessions.push_back(session);
    return session;
}

std::shared_ptr<Ensemble::Attempts>
Ensemble::attempts_of(std::string const& owner, KeyRange const& range, std::chrono::milliseconds ttl, std::size_t bytes)
{
    auto& entry = attempts_[owner];
    if (auto pending = entry.lock())
        return pending;
    SessionPtr session;
    for (auto const& node : registry_->find_all(owner, range))
        session = node->session;
    if (session == nullptr)
        session = lease_session(ttl, bytes);
    std::shared_ptr<Attempts> attempts(
        new Attempts{owner, std::move(session)}, [weak = weak_from_this()](Attempts const* ended) {
            if (auto const self = weak.lock())
                self->attempts_.erase(ended->owner);
            delete ended;
        });
    entry = attempts;
    return attempts;
}

void Ensemble::give_back(std::string const& owner)
{
    if (auto const found = attempts_.find(owner); found != attempts_.end())
        if (auto const attempts = found->second.lock())
            attempts->given_back = true;
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

void Ensemble::on_event(Session const& session, SessionEvent const& event)
{
    using Kind = SessionEvent::Kind;
    auto const kind = event.kind;
    if (kind == Kind::expired)
        registry_->session_expired(session.id());
    // When a connection ends, all its requests fail: so they can be repeated as soon as there is another. Also after an
    // expiry: the leases are lost, and their holders learn it from the next request.
    if ((kind == Kind::connected || kind == Kind::expired || kind == Kind::authentication_failed) && reachable_)
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
        session->close(!session->room().has_nodes());
    registry_->close();
}

} // namespace tenure::zookeeper
