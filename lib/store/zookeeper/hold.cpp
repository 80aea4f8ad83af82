// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "hold.hpp"

#include <store/not_written.hpp>

#include <zookeeper/zookeeper.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/** The node that a claim stands for; null if this process has none any more, which proves that it is lost: nodes of a
 * session that is over are gone, and no other session's could be this one. */
[[nodiscard]] HoldingPtr holding_of(Ensemble const& ensemble, Claim const& claim)
{
    if (claim.handle != nullptr) {
        auto holding = std::static_pointer_cast<Holding>(claim.handle);
        return holding->state == Holding::State::gone ? nullptr : holding;
    }
    for (auto const& holding : ensemble.ledger().of(claim.owner, *claim.range))
        if (holding->index == claim.index)
            return holding;
    return nullptr;
}

template <class Reply>
void post(Ensemble const& ensemble, ReplyHandler<Reply> handler, Reply reply)
{
    ensemble.runtime().post(
        [handler = std::move(handler), reply = std::move(reply)]() mutable { std::move(handler)(std::move(reply)); });
}

/// Other keys of a generation that are claimed at least once in each round trip would keep a lease from ever being
/// released. After so many times a removal looks at the node alone.
constexpr int generations_missed_at_most = 8;

/** What became of one node that was to be removed. */
using Removal = ReleaseReply;
using RemovalHandler = ReplyHandler<Removal>;

class RemoveRun : public std::enable_shared_from_this<RemoveRun>
{
public:
    RemoveRun(EnsemblePtr ensemble, HoldingPtr holding, Instant not_after, RemovalHandler handler)
        : ensemble_(std::move(ensemble))
        , holding_(std::move(holding))
        , not_after_(not_after)
        , handler_(std::move(handler))
    {
    }

    void start()
    {
        if (holding_->state != Holding::State::gone && holding_->session->connected() &&
            ensemble_->runtime().now() <= not_after_) {
            begin(); // which never answers at once
            return;
        }
        holding_->session->when_connected(not_after_, [self = shared_from_this()](Failure const* why) {
            if (self->holding_->state == Holding::State::gone)
                self->done(NotOwner{});
            else if (why != nullptr)
                self->done(*why);
            else
                self->begin();
        });
    }

private:
    void begin()
    {
        // While the generation is that of the claim nobody who keeps to the protocol has claimed the key since; and
        // what somebody else created there has another version, unless it was written to exactly once.
        if (holding_->state == Holding::State::held && holding_->generation_version && !holding_->removal_unknown &&
            !look_first_)
            remove({holding_->generation_version, claimed_version});
        else
            look();
    }

    void look()
    {
        look_first_ = true;
        // A creation or a removal whose outcome is not known may have come to this server late: behind a write on the
        // connection of now there is none to come any more, and whoever has the key after it is seen.
        look_at(
            holding_->session, holding_->path, holding_->generation, holding_->czxid == 0 || holding_->removal_unknown,
            [self = shared_from_this()](Sighting const& seen) { self->judge(seen); });
    }

    void judge(Sighting const& seen)
    {
        auto const* const failed = seen.failure();
        if (holding_->state == Holding::State::gone || (failed == nullptr && seen.node.code == ZNONODE)) {
            ensemble_->ledger().remove(*holding_);
            done(NotOwner{});
        } else if (failed != nullptr) {
            done(not_written(failure(*failed)));
        } else if (holding_->owned(seen.node)) {
            bool const in_vain = generations_missed_ >= generations_missed_at_most;
            remove({in_vain ? std::nullopt : seen.generation_version(), seen.node.node.version});
        } else {
            // an evicted one is still to be removed, when the time of whoever held it is over
            if (!holding_->made(seen.node))
                ensemble_->ledger().remove(*holding_);
            done(NotOwner{});
        }
    }

    void remove(Ledger::Condition const& condition)
    {
        if (ensemble_->runtime().now() > not_after_) {
            // never inside of the call that asks for the removal
            ensemble_->runtime().post([self = shared_from_this()] { self->done(Failure::dropped()); });
            return;
        }
        ensemble_->ledger().delete_node(
            holding_, condition,
            [self = shared_from_this()](Answer const& removed) {
                self->generations_missed_ += removed.of_generation ? 1 : 0;
                if (removed.code == ZBADVERSION || (removed.code == ZNONODE && removed.of_generation))
                    self->look(); // another key of this generation was claimed, or this one evicted in this moment
                else if (removed.code == ZOK || removed.code == ZNONODE)
                    self->done(removed.code == ZOK ? Removal(Released{}) : Removal(NotOwner{}));
                else
                    self->done(self->failure(removed));
            },
            [self = shared_from_this()] { self->start(); });
    }

    [[nodiscard]] Failure failure(Answer const& answer) const
    {
        return ensemble_->failure(answer, *holding_->range, holding_->index);
    }

    void done(Removal removal) { handler_(std::move(removal)); }

    EnsemblePtr ensemble_;
    HoldingPtr holding_;
    Instant not_after_;
    RemovalHandler handler_;
    /// what is known since the claim is no longer so
    bool look_first_ = false;
    int generations_missed_ = 0;
};

/** All nodes of one owner, one after another; the first failure is what is told, after all were tried. */
class WithdrawRun : public std::enable_shared_from_this<WithdrawRun>
{
public:
    WithdrawRun(EnsemblePtr ensemble, WithdrawRequest const& request, ReplyHandler<WithdrawReply> handler)
        : ensemble_(std::move(ensemble))
        , not_after_(request.not_after)
        , left_(ensemble_->ledger().of(request.owner, *request.range))
        , handler_(std::move(handler))
    {
    }

    void next()
    {
        if (left_.empty()) {
            std::move(handler_)(failure_ ? WithdrawReply(std::move(*failure_)) : WithdrawReply(Released{}));
            return;
        }
        auto holding = std::move(left_.back());
        left_.pop_back();
        auto removed = [self = shared_from_this()](Removal removal) {
            if (auto* const failure = std::get_if<Failure>(&removal); failure != nullptr && !self->failure_)
                self->failure_ = std::move(*failure);
            self->next();
        };
        std::make_shared<RemoveRun>(ensemble_, std::move(holding), not_after_, std::move(removed))->start();
    }

private:
    EnsemblePtr ensemble_;
    Instant not_after_;
    std::vector<HoldingPtr> left_;
    ReplyHandler<WithdrawReply> handler_;
    std::optional<Failure> failure_;
};

void judge_renewal(
    Ensemble const& ensemble, Holding& holding, Answer const& write, Answer const& read, ReplyHandler<RenewReply> reply)
{
    auto const& answer = is_answered(write.code) ? read : write;
    if (holding.state == Holding::State::gone || answer.code == ZNONODE) {
        ensemble.ledger().remove(holding);
        reply(NotOwner{});
    } else if (answer.code != ZOK) {
        reply(ensemble.failure(answer, holding.range->key(holding.index)));
    } else if (holding.owned(answer)) {
        Renewed const renewed{holding.session->timeout(), holding.session->proven()};
        ensemble.ledger().extend(holding, renewed.since + renewed.ttl);
        reply(renewed);
    } else {
        if (!holding.made(answer))
            ensemble.ledger().remove(holding);
        reply(NotOwner{});
    }
}

} // namespace

void renew(EnsemblePtr const& ensemble, RenewRequest request, ReplyHandler<RenewReply> handler)
{
    auto const holding = holding_of(*ensemble, *request.claim);
    if (holding == nullptr) {
        post(*ensemble, std::move(handler), RenewReply(NotOwner{}));
        return;
    }
    if (!holding->session->connected()) {
        post(*ensemble, std::move(handler), RenewReply(holding->session->why_not_connected()));
        return;
    }
    auto const wanted = [ensemble, claim = request.claim, not_after = request.not_after] {
        return !claim->ended && ensemble->runtime().now() <= not_after;
    };
    holding->session->read_with_next_write(
        holding->path, wanted,
        [ensemble, holding, reply = std::move(handler)](Answer const& write, Answer const& read) mutable {
            judge_renewal(*ensemble, *holding, write, read, std::move(reply));
        });
}

void release(EnsemblePtr const& ensemble, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto holding = holding_of(*ensemble, *request.claim);
    if (holding == nullptr) {
        post(*ensemble, std::move(handler), ReleaseReply(NotOwner{}));
        return;
    }
    std::make_shared<RemoveRun>(ensemble, std::move(holding), request.not_after, std::move(handler))->start();
}

void withdraw(EnsemblePtr const& ensemble, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    auto run = std::make_shared<WithdrawRun>(ensemble, request, std::move(handler));
    ensemble->runtime().post([run] { run->next(); });
}

} // namespace tenure::zookeeper
