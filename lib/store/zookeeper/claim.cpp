// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim.hpp"

#include "node_value.hpp"

#include <store/not_written.hpp>

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/// nodes that appear and vanish while they are asked for, one after another, before that counts as busy
constexpr int surprises_allowed = 8;
/// keys of a pool that are looked at, at most, to find one that can free by itself
constexpr std::uint32_t looks_at_busy_keys = 64;

class ClaimRun : public std::enable_shared_from_this<ClaimRun>
{
public:
    ClaimRun(EnsemblePtr ensemble, ClaimRequest request, ReplyHandler<ClaimReply> handler)
        : ensemble_(std::move(ensemble))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , nodes_(ensemble_->nodes(request_.range))
        , session_(ensemble_->holding(request_.ttl))
        , use_(session_->use())
    {
    }

    void start()
    {
        if (session_->connected()) {
            // nothing below answers at once
            begin();
            return;
        }
        session_->when_connected(request_.not_after, [self = shared_from_this()](Failure const* why) {
            if (why != nullptr)
                self->reply(*why);
            else
                self->begin();
        });
    }

private:
    void begin()
    {
        if (request_.earliest_attempt) {
            // what this process may have created for the owner is all that anybody may have
            looks_at_earlier_ = true;
            earlier_ = ensemble_->ledger().of(request_.owner, *request_.range);
            look_at_earlier();
        } else {
            look_for_free();
        }
    }

    /** Asks again for each node of which the owner may have one: a creation that is refused because the node exists was
     * decided by the leader, so what is read after it is not old. */
    void look_at_earlier()
    {
        while (!earlier_.empty() && earlier_.back()->state == Holding::State::gone)
            earlier_.pop_back();
        if (earlier_.empty()) {
            looks_at_earlier_ = false;
            look_for_free();
            return;
        }
        auto holding = earlier_.back();
        earlier_.pop_back();
        create(std::move(holding));
    }

    void look_for_free()
    {
        if (request_.range->count == 1) {
            try_key(0);
            return;
        }
        session_->ask({Question::Kind::sync, nodes_->parent()}, [](Answer const&) {});
        session_->ask({Question::Kind::children, nodes_->parent()}, [self = shared_from_this()](Answer const& answer) {
            self->taken_.assign(self->request_.range->count, false);
            if (answer.code != ZOK && answer.code != ZNONODE) {
                self->fail(answer, self->request_.range->describe());
                return;
            }
            for (auto const& name : answer.children)
                if (auto const index = self->nodes_->index_of(name))
                    self->taken_[*index] = true;
            self->try_next();
        });
    }

    void try_next()
    {
        for (; next_ < request_.range->count; ++next_)
            if (!taken_[next_] && !ensemble_->ledger().creating(nodes_->path(next_))) {
                try_key(next_++);
                return;
            }
        look_at_busy(0);
    }

    void try_key(std::uint32_t index) { create(add(index)); }

    void taken_by_another()
    {
        if (looks_at_earlier_)
            look_at_earlier();
        else if (request_.range->count == 1)
            busy(foreign_);
        else
            try_next();
    }

    [[nodiscard]] HoldingPtr add(std::uint32_t index)
    {
        return ensemble_->ledger().add(
            session_, request_.range, index, nodes_->path(index), nodes_->generation(index), request_.owner);
    }

    void create(HoldingPtr holding)
    {
        if (request_.not_after.over(ensemble_->runtime().now())) {
            if (!request_.earliest_attempt)
                ensemble_->ledger().remove(*holding);
            ensemble_->runtime().post([self = shared_from_this()] { self->reply(Failure::dropped()); });
            return;
        }
        ensemble_->ledger().begin_creating(*holding);
        session_->ask(
            {Question::Kind::claim, holding->path, encode(request_.owner, session_->timeout()), 0, false,
             holding->generation},
            [self = shared_from_this(), holding](Answer const& answer) {
                if (answer.code == ZNODEEXISTS) {
                    self->look_at_holder(holding);
                    return;
                }
                self->ensemble_->ledger().end_creating(*holding);
                if (answer.code == ZOK)
                    self->granted(holding, answer);
                else if (answer.code == ZNONODE)
                    self->make_what_is_missing(holding, answer.of_generation);
                else
                    self->create_failed(*holding, answer);
            });
    }

    void make_what_is_missing(HoldingPtr const& holding, bool generation)
    {
        auto made = [self = shared_from_this(), holding](Answer const& answer) {
            if ((answer.code == ZOK || answer.code == ZNODEEXISTS) && ++self->surprises_ <= surprises_allowed)
                self->create(holding);
            else
                self->create_failed(*holding, answer);
        };
        if (generation)
            ensemble_->make_generation(session_, holding->generation, std::move(made));
        else
            ensemble_->make_parent(session_, nodes_->parent(), std::move(made));
    }

    void look_at_holder(HoldingPtr const& holding)
    {
        session_->ask({Question::Kind::get, holding->path}, [self = shared_from_this(), holding](Answer const& read) {
            self->ensemble_->ledger().end_creating(*holding);
            if (read.code == ZOK && holding->owned(read))
                self->granted(holding, read);
            else if (read.code == ZNONODE && ++self->surprises_ <= surprises_allowed)
                self->create(holding);
            else if (read.code == ZOK || read.code == ZNONODE || read.code == ZNOAUTH) {
                self->foreign_ = read.code == ZOK && read.node.ephemeral_owner == 0;
                self->ensemble_->ledger().remove(*holding);
                self->taken_by_another();
            } else {
                // the node was there before: nothing was created now
                if (!self->request_.earliest_attempt)
                    self->ensemble_->ledger().remove(*holding);
                self->fail(read, self->request_.range->key(holding->index));
            }
        });
    }

    void granted(HoldingPtr holding, Answer const& answer)
    {
        // The claim may have been asked for twice, and both have met one node. It is held once, or the one that is not
        // renewed would let it lapse.
        auto& ledger = ensemble_->ledger();
        if (auto other = ledger.holder_of(request_.owner, holding->path, answer.node.czxid);
            other != nullptr && other != holding) {
            ledger.remove(*holding);
            holding = std::move(other);
        }
        if (holding->state == Holding::State::gone) {
            if (answer.node.ephemeral_owner != session_->id()) {
                // the session expired before the answer was handed on
                reply(Failure::unknown(
                    errc::store_unavailable, ensemble_->name() + ": " + holding->path + ": the session expired"));
                return;
            }
            // the other one gave it up for taken, before this one made it
            holding = add(holding->index);
        }
        holding->state = Holding::State::held;
        // what was read of a node says nothing about its generation
        if (answer.generation_version || holding->czxid != answer.node.czxid)
            holding->generation_version = answer.generation_version;
        holding->czxid = answer.node.czxid;
        holding->session_id = session_->id();
        Granted granted;
        granted.index = holding->index;
        granted.fencing_token = request_.fencing ? static_cast<std::uint64_t>(answer.node.czxid) : 0;
        granted.ttl = session_->timeout();
        granted.since = session_->proven();
        granted.handle = holding;
        ledger.extend(*holding, granted.since + granted.ttl);
        reply(std::move(granted));
    }

    void create_failed(Holding& holding, Answer const& answer)
    {
        auto failure = ensemble_->failure(answer, *request_.range, holding.index);
        // an attempt of before may have left a node, whatever came of this one
        if (!failure.may_take_effect() && !request_.earliest_attempt)
            ensemble_->ledger().remove(holding);
        reply(std::move(failure));
    }

    /** All are held; by nodes without a session they would be so for ever. */
    void look_at_busy(std::uint32_t index)
    {
        if (index >= std::min(request_.range->count, looks_at_busy_keys)) {
            busy(index == request_.range->count);
            return;
        }
        session_->ask(
            {Question::Kind::get, nodes_->path(index)}, [self = shared_from_this(), index](Answer const& read) {
                if (read.code == ZOK && read.node.ephemeral_owner == 0)
                    self->look_at_busy(index + 1);
                else if (read.code == ZOK || read.code == ZNONODE || read.code == ZNOAUTH)
                    self->busy(false);
                else
                    self->fail(read, self->request_.range->describe());
            });
    }

    void busy(bool never_frees) { reply(Busy{std::nullopt, never_frees}); }

    void fail(Answer const& answer, std::string const& what) { reply(not_written(ensemble_->failure(answer, what))); }

    void reply(ClaimReply answer)
    {
        use_ = nullptr;
        std::move(handler_)(std::move(answer));
    }

    EnsemblePtr ensemble_;
    ClaimRequest request_;
    ReplyHandler<ClaimReply> handler_;
    std::shared_ptr<RangeNodes const> nodes_;
    SessionPtr session_;
    Session::Use use_;
    std::vector<HoldingPtr> earlier_;
    bool looks_at_earlier_ = false;
    std::vector<bool> taken_;
    std::uint32_t next_ = 0;
    int surprises_ = 0;
    /// the node that was in the way last belongs to no session
    bool foreign_ = false;
};

} // namespace

void claim(EnsemblePtr ensemble, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    std::make_shared<ClaimRun>(std::move(ensemble), std::move(request), std::move(handler))->start();
}

} // namespace tenure::zookeeper
