// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ensemble.hpp"

#include <zookeeper/zookeeper.h>

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

std::shared_ptr<RangeNodes const> Ensemble::nodes(KeyRangePtr const& range)
{
    // Fibonacci hashing: the upper bits of the product depend on all of the address
    auto const address = static_cast<std::uint64_t>(std::hash<KeyRangePtr>()(range));
    static_assert(std::tuple_size_v<decltype(known_nodes_)> == 128);
    auto& known = known_nodes_[address * 0x9e37'79b9'7f4a'7c15U >> 57U];
    if (known.range != range) {
        known.nodes = std::make_shared<RangeNodes const>(config_->chroot, config_->username, *range);
        known.range = range;
    }
    return known.nodes;
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

void Ensemble::make_generation(SessionPtr const& session, std::string const& path, AnswerHandler handler)
{
    make(session, {Question::Kind::create_persistent, path}, [handler = std::move(handler)](Answer made) mutable {
        made.of_generation = made.code != ZOK && made.code != ZNODEEXISTS;
        handler(made);
    });
}

void Ensemble::make(SessionPtr const& session, Question const& node, AnswerHandler handler)
{
    session->ask(
        node, [self = shared_from_this(), session, node, handler = std::move(handler)](Answer const& answer) mutable {
            auto ancestors = std::make_shared<std::vector<std::string>>(ancestors_of(node.path));
            if (answer.code != ZNONODE || ancestors->empty())
                handler(answer);
            else
                self->make_ancestor(
                    session, std::move(ancestors), 0,
                    [session, node, handler = std::move(handler)](Answer const& made) mutable {
                        if (made.code == ZOK || made.code == ZNODEEXISTS)
                            session->ask(node, std::move(handler));
                        else
                            handler(made);
                    });
        });
}

void Ensemble::make_ancestor(
    SessionPtr const& session, std::shared_ptr<std::vector<std::string>> ancestors, std::size_t next,
    AnswerHandler handler)
{
    auto const& path = (*ancestors)[next];
    session->ask(
        {Question::Kind::create_persistent, path}, [self = shared_from_this(), session, ancestors, next,
                                                    handler = std::move(handler)](Answer const& answer) mutable {
            // without the right to create it, it may be there all the same: the next one tells
            bool const go_on = answer.code == ZOK || answer.code == ZNODEEXISTS || answer.code == ZNOAUTH;
            if (!go_on || next + 1 == ancestors->size())
                handler(answer.code == ZNOAUTH ? Answer{ZNODEEXISTS} : answer);
            else
                self->make_ancestor(session, ancestors, next + 1, std::move(handler));
        });
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

} // namespace tenure::zookeeper
