// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ensemble.hpp"

#include <cstdint>
#include <functional>
#include <utility>

namespace tenure::zookeeper
{

Ensemble::Ensemble(std::shared_ptr<Runtime> runtime, ZookeeperConfig config, std::string name)
    : runtime_(std::move(runtime))
    , config_(std::make_shared<ZookeeperConfig const>(std::move(config)))
    , name_(std::move(name))
    , ledger_(std::make_shared<Ledger>(runtime_))
{
}

SessionPtr Ensemble::make(Session::Settings settings)
{
    auto session = std::make_shared<Session>(
        runtime_, config_, std::move(settings), [weak = weak_from_this()](Session& of, Session::Change change) {
            if (auto const self = weak.lock())
                self->changed(of, change);
        });
    if (closed_)
        session->close(false);
    return session;
}

SessionPtr Ensemble::holding(std::chrono::milliseconds ttl)
{
    auto& session = holding_[ttl];
    if (session == nullptr)
        session = make({name_, ttl, false});
    return session;
}

SessionPtr Ensemble::looking()
{
    if (looking_ == nullptr)
        looking_ = make({name_ + " (looking)", config_->tick * 10, true});
    return looking_;
}

SessionPtr Ensemble::probe(std::chrono::milliseconds timeout)
{
    auto session = make({name_ + " (probe)", timeout, true});
    std::erase_if(probes_, [](auto const& probe) { return probe.expired(); });
    probes_.push_back(session);
    return session;
}

void Ensemble::changed(Session& session, Session::Change change)
{
    auto const self = shared_from_this();
    if (&session == looking_.get()) {
        if (looking_changed_)
            looking_changed_(session, change);
        return;
    }
    if (change == Session::Change::expired)
        ledger_->session_over(session.id());
    // after an expiry, too: what was held is lost, which whoever asks again learns at once
    if (change != Session::Change::disconnected && reachable_)
        reachable_();
}

std::vector<SessionPtr> Ensemble::sessions() const
{
    std::vector<SessionPtr> all;
    for (auto const& [ttl, session] : holding_)
        all.push_back(session);
    if (looking_ != nullptr)
        all.push_back(looking_);
    for (auto const& probe : probes_)
        if (auto session = probe.lock())
            all.push_back(std::move(session));
    return all;
}

void Ensemble::drop_abandoned()
{
    // a copy: a request that is called back may begin or end sessions
    for (auto const& session : sessions())
        session->drop_abandoned();
}

void Ensemble::close() noexcept
{
    closed_ = true;
    for (auto const& [ttl, session] : holding_)
        // nodes that somebody may still rely on stay until the session's timeout
        session->close(!ledger_->any_of(session->id()));
    if (looking_ != nullptr)
        looking_->close(true);
    for (auto const& probe : probes_)
        if (auto const session = probe.lock())
            session->close(true);
    ledger_->close();
}

namespace
{

/** Creates a node, and the nodes above it that are missing. */
void create(SessionPtr const& session, Question const& node, AnswerHandler handler)
{
    session->ask(node, [session, node, handler = std::move(handler)](Answer const& answer) mutable {
        auto const& path = node.path.text();
        auto const parent = path.substr(0, path.rfind('/'));
        if (answer.code != ZNONODE || parent.empty()) {
            handler(answer);
            return;
        }
        create(
            session, {Question::Kind::create_persistent, parent},
            [session, node, handler = std::move(handler)](Answer const& created) mutable {
                if (created.exists())
                    session->ask(node, std::move(handler));
                else
                    handler(created);
            });
    });
}

} // namespace

void create_parent(SessionPtr const& session, std::string const& path, AnswerHandler handler)
{
    create(session, {Question::Kind::create_container, path}, std::move(handler));
}

void create_generation(SessionPtr const& session, std::string const& path, AnswerHandler handler)
{
    create(session, {Question::Kind::create_persistent, path}, [handler = std::move(handler)](Answer created) mutable {
        created.of_generation = !created.exists();
        handler(created);
    });
}

} // namespace tenure::zookeeper
