// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "operations.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

class InspectRun : public std::enable_shared_from_this<InspectRun>
{
public:
    InspectRun(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
        : ensemble_(std::move(ensemble))
        , range_(std::move(range))
        , not_after_(not_after)
        , handler_(std::move(handler))
        , nodes_(ensemble_->nodes(*range_))
        , session_(ensemble_->looking())
        , use_(session_->use())
    {
    }

    void start()
    {
        session_->when_connected(not_after_, [self = shared_from_this()](Failure const* why) {
            if (why != nullptr)
                self->handler_(*why);
            else
                self->list();
        });
    }

private:
    void list()
    {
        session_->ask({Question::Kind::sync, nodes_.parent()}, [](Answer const&) {});
        session_->ask({Question::Kind::children, nodes_.parent()}, [self = shared_from_this()](Answer const& answer) {
            if (answer.code == ZOK || answer.code == ZNONODE)
                self->read(answer.children);
            else
                self->fail(answer);
        });
    }

    void read(std::vector<std::string> const& names)
    {
        states_.resize(range_->count);
        for (std::uint32_t index = 0; index < range_->count; ++index)
            states_[index].index = index;
        open_ = 1; // this function
        for (auto const& name : names)
            if (auto const index = nodes_.index_of(name)) {
                ++open_;
                session_->ask(
                    {Question::Kind::get, nodes_.path(*index)},
                    [self = shared_from_this(), index = *index](Answer const& answer) { self->saw(index, answer); });
            }
        close_one();
    }

    void saw(std::uint32_t index, Answer const& answer)
    {
        auto& state = states_[index];
        if (answer.code == ZOK) {
            auto const value = decode(answer.data);
            state.kind = answer.node.ephemeral_owner == 0 ? KeyState::Kind::foreign : KeyState::Kind::held;
            state.owner = value.owner;
            // the full ttl, as long as its session is renewed
            state.remaining = value.ttl;
            state.fencing_token = static_cast<std::uint64_t>(answer.node.czxid);
        } else if (answer.code != ZNONODE && !failed_) {
            failed_ = answer;
        }
        close_one();
    }

    void close_one()
    {
        if (--open_ > 0)
            return;
        if (failed_)
            fail(*failed_);
        else
            handler_(std::move(states_));
    }

    void fail(Answer const& answer) { handler_(ensemble_->failure(answer, range_->describe())); }

    EnsemblePtr ensemble_;
    KeyRangePtr range_;
    Deadline not_after_;
    ReplyHandler<InspectReply> handler_;
    RangeNodes nodes_;
    SessionPtr session_;
    Session::Use use_;
    std::vector<KeyState> states_;
    std::size_t open_ = 0;
    std::optional<Answer> failed_;
};

class EvictRun : public std::enable_shared_from_this<EvictRun>
{
public:
    EvictRun(EnsemblePtr ensemble, EvictRequest request, ReplyHandler<EvictReply> handler)
        : ensemble_(std::move(ensemble))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , path_(ensemble_->nodes(*request_.range).path(request_.index))
        , generation_(ensemble_->nodes(*request_.range).generation(request_.index))
        , session_(ensemble_->looking())
        , use_(session_->use())
    {
    }

    void start()
    {
        session_->when_connected(request_.not_after, [self = shared_from_this()](Failure const* why) {
            if (why != nullptr)
                self->handler_(*why);
            else
                self->read();
        });
    }

private:
    void read()
    {
        session_->ask({Question::Kind::sync, path_}, [](Answer const&) {});
        look_at(session_, path_, generation_, false, [self = shared_from_this()](Sighting const& seen) {
            if (auto const* const failed = seen.failure(); failed != nullptr)
                self->fail(*failed);
            else if (seen.node.code == ZNONODE)
                self->handler_(NotOwner{});
            else
                self->replace(seen);
        });
    }

    void replace(Sighting const& seen)
    {
        auto value = decode(seen.node.data);
        if (value.owner != request_.owner) {
            handler_(NotOwner{});
            return;
        }
        value.owner = "evicted/" + request_.evicted_by;
        session_->ask(
            {Question::Kind::set, path_, encode(value.owner, value.ttl), seen.node.node.version, false, generation_,
             seen.generation_version()},
            [self = shared_from_this(), ttl = value.ttl](Answer const& answer) {
                if (answer.code == ZOK)
                    self->handler_(Evicted{ttl});
                else if (answer.of_generation && (answer.code == ZBADVERSION || answer.code == ZNONODE))
                    self->read_again();
                else if (answer.code == ZBADVERSION || answer.code == ZNONODE)
                    self->handler_(NotOwner{});
                else
                    self->fail(answer);
            });
    }

    /** A client has claimed a key of the same generation, maybe this one. */
    void read_again()
    {
        if (request_.not_after.over(ensemble_->runtime().now()))
            handler_(Failure::dropped());
        else
            read();
    }

    void fail(Answer const& answer) { handler_(ensemble_->failure(answer, *request_.range, request_.index)); }

    EnsemblePtr ensemble_;
    EvictRequest request_;
    ReplyHandler<EvictReply> handler_;
    std::string path_;
    std::string generation_;
    SessionPtr session_;
    Session::Use use_;
};

} // namespace

void inspect(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
{
    std::make_shared<InspectRun>(std::move(ensemble), std::move(range), not_after, std::move(handler))->start();
}

void evict(EnsemblePtr ensemble, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    std::make_shared<EvictRun>(std::move(ensemble), std::move(request), std::move(handler))->start();
}

} // namespace tenure::zookeeper
