// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims on ZooKeeper: creation of the node of a key.
#include "operations.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <store/claim_window.hpp>
#include <store/not_written.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/// nodes that appear or vanish between two requests are tolerated this often before the answer is busy
constexpr int surprises_allowed = 8;
/// limit of keys of a pool that are read to find one that can expire
constexpr std::uint32_t busy_keys_read = 64;

class NodeClaim : public std::enable_shared_from_this<NodeClaim>
{
public:
    NodeClaim(EnsemblePtr ensemble, ClaimRequest request, ReplyHandler<ClaimReply> handler)
        : ensemble_(std::move(ensemble))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , nodes_(ensemble_->nodes(*request_.range))
        , bytes_(SessionRoom::bytes_of(nodes_.path(request_.range->count - 1)))
        , attempts_(ensemble_->attempts_of(request_.owner, *request_.range, request_.ttl, bytes_))
        , session_(attempts_->session)
        , use_(session_->use())
        , room_(session_->room().reserve(bytes_))
    {
    }

    void start()
    {
        if (session_->connected())
            wait_for_turn();
        else
            session_->when_connected(request_.not_after, [self = shared_from_this()](Failure const* why) {
                if (why != nullptr)
                    self->answer(*why);
                else
                    self->wait_for_turn();
            });
    }

private:
    void wait_for_turn()
    {
        // never answers inside this call
        session_->claims().begin(
            request_.not_after, [self = shared_from_this()](std::variant<store::ClaimWindow::Place, Failure>&& turn) {
                if (auto* const failure = std::get_if<Failure>(&turn)) {
                    self->answer(std::move(*failure));
                    return;
                }
                if (!self->session_->connected()) {
                    self->start(); // the connection was lost while it waited: others may have the place
                    return;
                }
                self->place_ = std::move(std::get<store::ClaimWindow::Place>(turn));
                self->begin();
            });
    }

    void answer(ClaimReply reply)
    {
        room_.give_back();
        place_ = {};
        handler_(std::move(reply));
    }

    void begin()
    {
        if (request_.earliest_attempt) {
            // only this process can have created nodes for the owner
            tries_earlier_ = true;
            earlier_ = ensemble_->registry().find_all(request_.owner, *request_.range);
        }
        try_next();
    }

    /** Sends a step, the first one behind those of claims that have begun. */
    void ask(Request request, ResponseHandler handler)
    {
        auto const urgency = std::exchange(first_step_, false) ? Urgency::first_step : Urgency::later_step;
        session_->ask(std::move(request), std::move(handler), terms(urgency));
    }
    [[nodiscard]] Terms terms(Urgency urgency) const
    {
        return {urgency, request_.not_after, {attempts_, &attempts_->given_back}};
    }

    /** Tries the nodes of earlier attempts, then those keys that seem to be free. */
    void try_next()
    {
        if (tries_earlier_)
            try_earlier();
        else if (request_.range->count == 1)
            create(add(0));
        else if (taken_.empty())
            list_keys();
        else
            try_free();
    }

    /** Creates each node that the owner may already have. If the creation is refused because the node exists, the
     *  leader has decided that, so the following read is not stale. */
    void try_earlier()
    {
        while (!earlier_.empty() && earlier_.back()->state == OwnedNode::State::gone)
            earlier_.pop_back();
        if (earlier_.empty()) {
            tries_earlier_ = false;
            try_next();
            return;
        }
        auto node = std::move(earlier_.back());
        earlier_.pop_back();
        create(std::move(node));
    }

    void list_keys()
    {
        // both are the first step
        session_->ask({Request::Kind::sync, nodes_.parent()}, [](Response const&) {}, terms(Urgency::first_step));
        ask({Request::Kind::children, nodes_.parent()}, [self = shared_from_this()](Response const& response) {
            if (response.code != ZOK && response.code != ZNONODE) {
                self->fail(response, self->request_.range->describe());
                return;
            }
            self->taken_.assign(self->request_.range->count, false);
            for (auto const& name : response.children)
                if (auto const index = self->nodes_.index_of(name))
                    self->taken_[*index] = true;
            self->try_free();
        });
    }

    void try_free()
    {
        for (; next_ < request_.range->count; ++next_)
            if (!taken_[next_] && !ensemble_->registry().creating(nodes_.path(next_))) {
                create(add(next_++));
                return;
            }
        read_busy(0);
    }

    [[nodiscard]] OwnedNodePtr add(std::uint32_t index)
    {
        return ensemble_->registry().add(
            session_, request_.range, index, nodes_.path(index), nodes_.generation(index), request_.owner);
    }

    /** Removes a node that this attempt has not created; an earlier one may have. */
    void forget(OwnedNode& node)
    {
        if (!request_.earliest_attempt)
            ensemble_->registry().remove(node);
    }

    void create(OwnedNodePtr node)
    {
        if (request_.not_after.over(ensemble_->runtime().now())) {
            forget(*node);
            ensemble_->runtime().post([self = shared_from_this()] { self->answer(Failure::dropped()); });
            return;
        }
        ensemble_->registry().begin_creating(*node);
        ask({Request::Kind::claim, node->path, encode(request_.owner, session_->timeout()), 0, false, node->generation},
            [self = shared_from_this(), node](Response const& response) {
                if (response.code == ZNODEEXISTS) {
                    self->read_holder(node);
                    return;
                }
                self->ensemble_->registry().end_creating(*node);
                if (response.code == ZOK)
                    self->granted(node, response);
                else if (response.code == ZNONODE)
                    self->create_missing(node, response.of_generation);
                else
                    self->create_failed(*node, response);
            });
    }

    void create_missing(OwnedNodePtr const& node, bool generation)
    {
        auto created = [self = shared_from_this(), node](Response const& response) {
            if (response.exists() && ++self->surprises_ <= surprises_allowed)
                self->create(node);
            else
                self->create_failed(*node, response);
        };
        if (generation)
            create_generation(session_, node->generation, terms(Urgency::later_step)).start(std::move(created));
        else
            create_parent(session_, nodes_.parent(), terms(Urgency::later_step)).start(std::move(created));
    }

    void read_holder(OwnedNodePtr const& node)
    {
        ask({Request::Kind::get, node->path}, [self = shared_from_this(), node](Response const& read) {
            self->ensemble_->registry().end_creating(*node);
            if (read.code == ZOK && node->still_owned(read))
                self->granted(node, read);
            else if (read.code == ZNONODE && ++self->surprises_ <= surprises_allowed)
                self->create(node);
            else if (read.code == ZOK || read.code == ZNONODE || read.code == ZNOAUTH) {
                self->foreign_ = read.code == ZOK && read.stat.ephemeral_owner == 0;
                self->ensemble_->registry().remove(*node);
                self->taken_by_another();
            } else {
                // the node existed before
                self->forget(*node);
                self->fail(read, self->request_.range->key(node->index));
            }
        });
    }

    void taken_by_another()
    {
        if (!tries_earlier_ && request_.range->count == 1)
            answer(Busy{std::nullopt, foreign_});
        else
            try_next();
    }

    void granted(OwnedNodePtr node, Response const& response)
    {
        // A repeated claim may find one node twice. Only one entry may remain, because the other would not be renewed
        // and expire.
        auto& registry = ensemble_->registry();
        if (auto other = registry.holder_of(request_.owner, node->path, response.stat.czxid);
            other != nullptr && other != node) {
            registry.remove(*node);
            node = std::move(other);
        }
        if (node->state == OwnedNode::State::gone) {
            if (response.stat.ephemeral_owner != session_->id()) {
                // the session expired before the response was delivered
                answer(Failure::unknown(
                    errc::store_unavailable, ensemble_->name() + ": " + node->path + ": the session expired"));
                return;
            }
            // the other claim gave the node up as taken before this one created it
            node = add(node->index);
        }
        node->state = OwnedNode::State::held;
        // a read of the node says nothing about its generation
        if (response.generation_version || node->czxid != response.stat.czxid)
            node->generation_version = response.generation_version;
        node->czxid = response.stat.czxid;
        node->session_id = node->session->id();
        Granted granted;
        granted.index = node->index;
        granted.fencing_token = request_.fencing ? static_cast<std::uint64_t>(response.stat.czxid) : 0;
        granted.ttl = node->session->timeout();
        granted.since = node->session->proven();
        granted.handle = node;
        registry.extend(*node, granted.since + granted.ttl);
        answer(std::move(granted));
    }

    void create_failed(OwnedNode& node, Response const& response)
    {
        auto failure = ensemble_->failure(response, *request_.range, node.index);
        if (!failure.may_take_effect())
            forget(node);
        answer(std::move(failure));
    }

    /** All keys are held. A node without a session never expires, so it searches for a node that can. */
    void read_busy(std::uint32_t index)
    {
        if (index >= std::min(request_.range->count, busy_keys_read)) {
            answer(Busy{std::nullopt, index == request_.range->count});
            return;
        }
        ask({Request::Kind::get, nodes_.path(index)}, [self = shared_from_this(), index](Response const& read) {
            if (read.code == ZOK && read.stat.ephemeral_owner == 0)
                self->read_busy(index + 1);
            else if (read.code == ZOK || read.code == ZNONODE || read.code == ZNOAUTH)
                self->answer(Busy{std::nullopt, false});
            else
                self->fail(read, self->request_.range->describe());
        });
    }

    void fail(Response const& response, std::string const& what)
    {
        answer(not_written(ensemble_->failure(response, what)));
    }

    EnsemblePtr ensemble_;
    ClaimRequest request_;
    ReplyHandler<ClaimReply> handler_;
    RangeNodes nodes_;
    /// of the longest path that it may create
    std::size_t bytes_;
    std::shared_ptr<Ensemble::Attempts> attempts_;
    SessionPtr session_;
    Session::Use use_;
    /// until it is answered
    SessionRoom::Taken room_;
    /// from its turn until it is answered
    store::ClaimWindow::Place place_;
    bool first_step_ = true;
    /// nodes of earlier attempts that are still to be tried
    std::vector<OwnedNodePtr> earlier_;
    bool tries_earlier_ = false;
    /// keys that had a node in the last listing; empty before it
    std::vector<bool> taken_;
    std::uint32_t next_ = 0;
    int surprises_ = 0;
    /// the last node that blocked the claim has no session
    bool foreign_ = false;
};

} // namespace

void claim(EnsemblePtr ensemble, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    std::make_shared<NodeClaim>(std::move(ensemble), std::move(request), std::move(handler))->start();
}

} // namespace tenure::zookeeper
