// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Release and withdrawal on ZooKeeper: conditional removal of nodes.
#include "operations.hpp"

#include <store/not_written.hpp>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/// If other keys of a generation are claimed in each round trip, a lease could never be released. After this many
/// attempts a removal checks only the node.
constexpr int generations_missed_at_most = 8;

/** Removes one node of this process, unless another client owns it by now. */
class Removal : public std::enable_shared_from_this<Removal>
{
public:
    Removal(EnsemblePtr ensemble, OwnedNodePtr node, Instant not_after, ReplyHandler<ReleaseReply> handler)
        : ensemble_(std::move(ensemble))
        , node_(std::move(node))
        , not_after_(not_after)
        , handler_(std::move(handler))
    {
    }

    void start()
    {
        if (node_->state != OwnedNode::State::gone && node_->session->connected() &&
            ensemble_->runtime().now() <= not_after_) {
            begin(); // never answers inside this call
            return;
        }
        node_->session->when_connected(not_after_, [self = shared_from_this()](Failure const* why) {
            if (self->node_->state == OwnedNode::State::gone)
                self->handler_(NotOwner{});
            else if (why != nullptr)
                self->handler_(*why);
            else
                self->begin();
        });
    }

private:
    void begin()
    {
        // While the generation is that of the claim, no client that follows the protocol has claimed the key since. A
        // node created by other software has another version, unless it was written to exactly once.
        if (node_->state == OwnedNode::State::held && node_->generation_version && !node_->removal_unknown &&
            !read_first_)
            remove({node_->generation_version, claimed_version});
        else
            read();
    }

    void read()
    {
        read_first_ = true;
        // A creation or a removal with an unknown outcome may reach this server late. After a write on the current
        // connection none can be pending, so the read shows which client has the key.
        read_node(
            node_->session, node_->path, node_->generation, node_->czxid == 0 || node_->removal_unknown,
            [self = shared_from_this()](NodeSnapshot const& snapshot) { self->judge(snapshot); });
    }

    void judge(NodeSnapshot const& snapshot)
    {
        auto const* const failed = snapshot.failure();
        if (node_->state == OwnedNode::State::gone || (failed == nullptr && snapshot.node.code == ZNONODE)) {
            ensemble_->registry().remove(*node_);
            handler_(NotOwner{});
        } else if (failed != nullptr) {
            handler_(not_written(failure(*failed)));
        } else if (node_->still_owned(snapshot.node)) {
            bool const in_vain = generations_missed_ >= generations_missed_at_most;
            remove({in_vain ? std::nullopt : snapshot.generation_version(), snapshot.node.stat.version});
        } else {
            // an evicted node must still be removed, when its lease has expired
            if (!node_->matches(snapshot.node))
                ensemble_->registry().remove(*node_);
            handler_(NotOwner{});
        }
    }

    void remove(NodeRegistry::Condition const& condition)
    {
        if (ensemble_->runtime().now() > not_after_) {
            // never inside the call that requests the removal
            ensemble_->runtime().post([self = shared_from_this()] { self->handler_(Failure::dropped()); });
            return;
        }
        ensemble_->registry().delete_node(
            node_, condition,
            [self = shared_from_this()](Response const& removed) {
                self->generations_missed_ += removed.of_generation ? 1 : 0;
                if (removed.code == ZBADVERSION || (removed.code == ZNONODE && removed.of_generation))
                    self->read(); // another key of this generation was claimed, or this one evicted in this moment
                else if (removed.code == ZOK)
                    self->handler_(Released{});
                else if (removed.code == ZNONODE)
                    self->handler_(NotOwner{});
                else
                    self->handler_(self->failure(removed));
            },
            [self = shared_from_this()] { self->start(); });
    }

    [[nodiscard]] Failure failure(Response const& response) const
    {
        return ensemble_->failure(response, *node_->range, node_->index);
    }

    EnsemblePtr ensemble_;
    OwnedNodePtr node_;
    Instant not_after_;
    ReplyHandler<ReleaseReply> handler_;
    /// facts from the time of the claim are outdated, so the node is read first
    bool read_first_ = false;
    int generations_missed_ = 0;
};

/** Removes all nodes of one owner, one after another. All are tried; the reply is the first failure. */
class Withdrawal : public std::enable_shared_from_this<Withdrawal>
{
public:
    Withdrawal(EnsemblePtr ensemble, WithdrawRequest const& request, ReplyHandler<WithdrawReply> handler)
        : ensemble_(std::move(ensemble))
        , not_after_(request.not_after)
        , left_(ensemble_->registry().find_all(request.owner, *request.range))
        , handler_(std::move(handler))
    {
    }

    void next()
    {
        if (left_.empty()) {
            handler_(failure_ ? WithdrawReply(std::move(*failure_)) : WithdrawReply(Released{}));
            return;
        }
        auto node = std::move(left_.back());
        left_.pop_back();
        auto removed = [self = shared_from_this()](ReleaseReply&& reply) {
            if (auto* const failure = std::get_if<Failure>(&reply); failure != nullptr && !self->failure_)
                self->failure_ = std::move(*failure);
            self->next();
        };
        std::make_shared<Removal>(ensemble_, std::move(node), not_after_, std::move(removed))->start();
    }

private:
    EnsemblePtr ensemble_;
    Instant not_after_;
    std::vector<OwnedNodePtr> left_;
    ReplyHandler<WithdrawReply> handler_;
    std::optional<Failure> failure_;
};

} // namespace

void release(EnsemblePtr const& ensemble, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    ensemble->give_back(request.claim->owner);
    auto node = ensemble->registry().find(*request.claim);
    if (node == nullptr)
        ensemble->runtime().post([handler = std::move(handler)]() mutable { handler(NotOwner{}); });
    else
        std::make_shared<Removal>(ensemble, std::move(node), request.not_after, std::move(handler))->start();
}

void withdraw(EnsemblePtr const& ensemble, WithdrawRequest const& request, ReplyHandler<WithdrawReply> handler)
{
    ensemble->give_back(request.owner);
    auto run = std::make_shared<Withdrawal>(ensemble, request, std::move(handler));
    ensemble->runtime().post([run] { run->next(); });
}

} // namespace tenure::zookeeper
