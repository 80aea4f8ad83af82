// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and eviction on ZooKeeper.
#include "operations.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

class RangeInspection : public std::enable_shared_from_this<RangeInspection>
{
public:
    RangeInspection(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
        : ensemble_(std::move(ensemble))
        , range_(std::move(range))
        , not_after_(not_after)
        , handler_(std::move(handler))
        , nodes_(ensemble_->nodes(*range_))
        , session_(ensemble_->query_session())
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
        session_->ask({Request::Kind::sync, nodes_.parent()}, [](Response const&) {});
        session_->ask(
            {Request::Kind::children, nodes_.parent()}, [self = shared_from_this()](Response const& response) {
                if (response.code == ZOK || response.code == ZNONODE)
                    self->read(response.children);
                else
                    self->fail(response);
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
                    {Request::Kind::get, nodes_.path(*index)},
                    [self = shared_from_this(), index = *index](Response const& response) {
                        self->on_read(index, response);
                    });
            }
        close_one();
    }

    void on_read(std::uint32_t index, Response const& response)
    {
        auto& state = states_[index];
        if (response.code == ZOK) {
            auto const value = decode(response.data);
            state.kind = response.stat.ephemeral_owner == 0 ? KeyState::Kind::foreign : KeyState::Kind::held;
            state.owner = value.owner;
            // the full ttl, while its session is renewed
            state.remaining = value.ttl;
            state.fencing_token = static_cast<std::uint64_t>(response.stat.czxid);
        } else if (response.code != ZNONODE && !failed_) {
            failed_ = response;
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

    void fail(Response const& response) { handler_(ensemble_->failure(response, range_->describe())); }

    EnsemblePtr ensemble_;
    KeyRangePtr range_;
    Deadline not_after_;
    ReplyHandler<InspectReply> handler_;
    RangeNodes nodes_;
    SessionPtr session_;
    Session::Use use_;
    std::vector<KeyState> states_;
    std::size_t open_ = 0;
    std::optional<Response> failed_;
};

class Eviction : public std::enable_shared_from_this<Eviction>
{
public:
    Eviction(EnsemblePtr ensemble, EvictRequest request, ReplyHandler<EvictReply> handler)
        : ensemble_(std::move(ensemble))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , path_(ensemble_->nodes(*request_.range).path(request_.index))
        , generation_(ensemble_->nodes(*request_.range).generation(request_.index))
        , session_(ensemble_->query_session())
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
        session_->ask({Request::Kind::sync, path_}, [](Response const&) {});
        read_node(session_, path_, generation_, false, [self = shared_from_this()](NodeSnapshot const& snapshot) {
            if (auto const* const failed = snapshot.failure(); failed != nullptr)
                self->fail(*failed);
            else if (snapshot.node.code == ZNONODE)
                self->handler_(NotOwner{});
            else
                self->replace(snapshot);
        });
    }

    void replace(NodeSnapshot const& snapshot)
    {
        auto value = decode(snapshot.node.data);
        if (value.owner != request_.owner) {
            handler_(NotOwner{});
            return;
        }
        value.owner = "evicted/" + request_.evicted_by;
        session_->ask(
            {Request::Kind::set, path_, encode(value.owner, value.ttl), snapshot.node.stat.version, false, generation_,
             snapshot.generation_version()},
            [self = shared_from_this(), ttl = value.ttl](Response const& response) {
                if (response.code == ZOK)
                    self->handler_(Evicted{ttl});
                else if (response.of_generation && (response.code == ZBADVERSION || response.code == ZNONODE))
                    self->read_again();
                else if (response.code == ZBADVERSION || response.code == ZNONODE)
                    self->handler_(NotOwner{});
                else
                    self->fail(response);
            });
    }

    /** A client has claimed a key of the same generation, possibly this one. */
    void read_again()
    {
        if (request_.not_after.over(ensemble_->runtime().now()))
            handler_(Failure::dropped());
        else
            read();
    }

    void fail(Response const& response) { handler_(ensemble_->failure(response, *request_.range, request_.index)); }

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
    std::make_shared<RangeInspection>(std::move(ensemble), std::move(range), not_after, std::move(handler))->start();
}

void evict(EnsemblePtr ensemble, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    std::make_shared<Eviction>(std::move(ensemble), std::move(request), std::move(handler))->start();
}

} // namespace tenure::zookeeper
