// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "inspect.hpp"
#include "range_keys.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace tenure::etcd
{

namespace
{

/// the key, with somebody's value
constexpr std::size_t bytes_of_one = std::size_t{2} * 1024 * 1024;

/// of the new lease over the old one: the former holder may renew that after the grant of this
constexpr std::chrono::seconds spare{1};

/** Four steps: who holds it, how long its lease is, a lease for that long, and the exchange, which compares. A key that
 * has moved to another lease meanwhile is looked at again. */
class Eviction : public std::enable_shared_from_this<Eviction>
{
public:
    Eviction(NodePtr node, EvictRequest request, ReplyHandler<EvictReply> handler)
        : node_(std::move(node))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , key_(request_.range->key(request_.index))
    {
    }

    void start()
    {
        call("kv/range", range_body({key_, {}}, {}), [](Eviction& self, Outcome outcome) {
            auto const reply = parse_range(outcome.body);
            if (!reply)
                self.finish(nonsense(self.node_->where(), self.key_));
            else if (reply->found.empty() || reply->found.front().value != self.request_.owner)
                self.finish(NotOwner{});
            else if (reply->found.front().lease == 0)
                self.finish(Failure::refused(
                    errc::key_conflict,
                    self.node_->where() + ": " + self.key_ +
                        ": bears no lease, so it would never free; delete it by hand if nobody uses it",
                    true));
            else
                self.look(reply->found.front());
        });
    }

private:
    void look(KeyValue const& entry)
    {
        modified_ = entry.mod_revision;
        call("lease/timetolive", lease_body(entry.lease), [](Eviction& self, Outcome outcome) {
            auto const reply = parse_lease(outcome.body);
            if (!reply)
                self.finish(nonsense(self.node_->where(), self.key_));
            else
                // What is left of it says nothing: a renewal before the exchange counts for all of it, and changes
                // nothing that is compared.
                self.replace(std::chrono::seconds(std::max<std::int64_t>(reply->granted_ttl, 0)) + spare);
        });
    }

    void replace(std::chrono::milliseconds ttl)
    {
        node_->leases->grant(ttl, request_.not_after, [self = shared_from_this()](Leases::Taken taken) {
            if (auto* const lease = std::get_if<LeasePtr>(&taken))
                self->exchange(std::move(*lease));
            else
                self->finish(std::get<Failure>(std::move(taken)));
        });
    }

    void exchange(LeasePtr lease)
    {
        auto const body = Transaction()
                              .if_modified_at(key_, modified_)
                              .then_put(key_, "evicted/" + request_.evicted_by, lease->id)
                              .body();
        call("kv/txn", body, [lease = std::move(lease)](Eviction& self, Outcome outcome) {
            auto const reply = parse_transaction(outcome.body);
            if (!reply) {
                self.finish(nonsense(self.node_->where(), self.key_));
            } else if (!reply->succeeded) {
                self.node_->leases->discard(lease);
                self.start();
            } else {
                if (self.node_->runtime().now() - lease->since > spare)
                    self.begin_anew(*lease);
                self.finish(Evicted{std::chrono::seconds(lease->granted)});
            }
        });
    }

    /** A renewal between the grant of this lease and a late exchange would outlast it. */
    void begin_anew(Lease const& lease)
    {
        Call call;
        call.path = "lease/keepalive";
        call.body = lease_body(lease.id);
        call.not_after = node_->runtime().now() + std::chrono::seconds(lease.granted);
        node_->client->call(std::move(call), [](Outcome const&) {});
    }

    /** Goes on with a good reply. */
    template <class Next>
    void call(std::string_view path, std::string body, Next next)
    {
        Call call;
        call.path = path;
        call.body = std::move(body);
        call.not_after = request_.not_after;
        call.reply_bytes = bytes_of_one;
        node_->client->call(std::move(call), [self = shared_from_this(), next = std::move(next)](Outcome outcome) {
            if (outcome.good())
                next(*self, std::move(outcome));
            else
                self->finish(failure(std::move(outcome), self->node_->where(), self->key_));
        });
    }

    void finish(EvictReply reply) { std::move(handler_)(std::move(reply)); }

    NodePtr node_;
    EvictRequest request_;
    ReplyHandler<EvictReply> handler_;
    std::string key_;
    std::uint64_t modified_ = 0;
};

} // namespace

void evict(NodePtr const& node, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    std::make_shared<Eviction>(node, std::move(request), std::move(handler))->start();
}

} // namespace tenure::etcd
