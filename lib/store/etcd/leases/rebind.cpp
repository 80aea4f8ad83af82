// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "rebind.hpp"

#include "store/etcd/http/gateway_error.hpp"
#include "store/etcd/range_keys.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// a move that nobody waits for is not asked for later than this
constexpr auto move_limit = 5s;
/// of the ttl: after so long without an answer to a move another may be begun
constexpr std::int64_t move_patience = 4;

/** The key bears this lease since then. What was to move it before comes too late, whenever it comes. */
void adopt(Node& node, Holding& holding, LeasePtr lease, std::uint64_t modified)
{
    std::swap(holding.lease, lease);
    node.leases->discard(lease);
    holding.modified = modified;
    std::erase_if(holding.successors, [&](Holding::Successor const& successor) {
        if (successor.lease == holding.lease)
            return true;
        if (successor.if_modified >= modified)
            return false;
        node.leases->discard(successor.lease);
        return true;
    });
}

/** A holder whose key bears this lease may count on the key so long: what is left of the lease then is the key's
 * quarantine. */
Instant good_until(Lease const& lease, Claim const& claim)
{
    return lease.since + Clock::duration(std::chrono::seconds(lease.granted)) - Clock::duration(claim.reuse_after);
}

/** A lease is granted, and a transaction binds the key to it if nobody has written the key since; else it shows what
 * the key is. */
class Move : public std::enable_shared_from_this<Move>
{
public:
    Move(NodePtr node, RenewRequest request, bool awaited, ReplyHandler<RenewReply> handler)
        : node_(std::move(node))
        , request_(std::move(request))
        , awaited_(awaited)
        , handler_(std::move(handler))
    {
    }

    void start()
    {
        node_->leases->grant(request_.lifetime(), request_.not_after, [self = shared_from_this()](Leases::Taken taken) {
            if (auto* const lease = std::get_if<LeasePtr>(&taken)) {
                self->lease_ = std::move(*lease);
                self->put();
            } else {
                self->finish(std::get<Failure>(std::move(taken)));
            }
        });
    }

private:
    [[nodiscard]] Claim const& claim() const noexcept { return *request_.claim; }
    [[nodiscard]] Holding& holding() const noexcept { return holding_of(claim()); }

    void put()
    {
        // Another move has made this one void; or the earlier lease was renewed after this one was granted, its holder
        // counts on that, and where grants are so slow the next one need not be tried at once.
        bool const too_short = good_until(*lease_, claim()) < holding().promised;
        if (too_short)
            holding().next_move = node_->runtime().now() + request_.ttl;
        if (too_short || lease_->revoked) {
            give_up_lease();
            finish(doubt("another renewal has overtaken this one"));
            return;
        }
        auto const key = claim().key();
        Call call;
        call.path = "kv/txn";
        call.body = Transaction()
                        .if_modified_at(key, holding().modified)
                        .then_put(key, claim().owner, lease_->id)
                        .else_read({key, {}}, {0, true})
                        .body();
        call.not_after = request_.not_after;
        call.urgent = awaited_;
        call.unless_ended = request_.claim;
        call.reply_bytes = reply_bytes(*claim().range, 1);
        holding().successors.push_back({lease_, holding().modified});
        node_->client->call(
            std::move(call), [self = shared_from_this()](Outcome outcome) { self->answered(std::move(outcome)); });
    }

    void answered(Outcome outcome)
    {
        auto const reply = outcome.good() ? parse_transaction(outcome.body) : std::nullopt;
        if (!reply || (!reply->succeeded && reply->reads.size() != 1)) {
            auto result = outcome.good() ? nonsense(node_->where(), claim().key())
                                         : failure(std::move(outcome), node_->where(), claim().key());
            if (!result.may_take_effect())
                give_up_lease();
            finish(std::move(result));
            return;
        }
        node_->leases->note(reply->header);
        if (reply->succeeded)
            put_was_done(reply->header.revision);
        else
            put_was_not_done(reply->reads.front());
    }

    void put_was_done(std::uint64_t revision)
    {
        if (revision < holding().modified) {
            // the key has moved on since, and that was answered earlier
            give_up_lease();
            finish(doubt("another renewal has overtaken this one"));
            return;
        }
        if (holding().lease != lease_)
            adopt(*node_, holding(), lease_, revision);
        Renewed const renewed{usable_ttl(request_.ttl, claim().reuse_after, lease_->granted), lease_->since};
        if (awaited_)
            holding().promised = std::max(holding().promised, renewed.since + renewed.ttl);
        finish(renewed);
    }

    /** The key may have been moved by an earlier request that nobody heard of. */
    void put_was_not_done(RangeReply const& read)
    {
        std::erase_if(holding().successors, [&](auto const& successor) { return successor.lease == lease_; });
        if (!read.found.empty() && read.found.front().mod_revision < holding().modified) {
            give_up_lease();
            finish(doubt("what was read is older than what is known of the key"));
        } else if (read.found.empty() || !recognize(*node_, holding(), read.found.front())) {
            give_up_lease();
            finish(NotOwner{});
        } else {
            put();
        }
    }

    /** Nothing bears it. */
    void give_up_lease()
    {
        std::erase_if(holding().successors, [&](auto const& successor) { return successor.lease == lease_; });
        if (!lease_->revoked)
            node_->leases->discard(lease_);
    }

    [[nodiscard]] Failure doubt(char const* what) const
    {
        return Failure::unknown(errc::store_unavailable, node_->where() + ": " + claim().key() + ": " + what);
    }

    void finish(RenewReply reply) { std::move(handler_)(std::move(reply)); }

    NodePtr node_;
    RenewRequest request_;
    bool awaited_;
    ReplyHandler<RenewReply> handler_;
    LeasePtr lease_;
};

} // namespace

bool recognize(Node& node, Holding& holding, KeyValue const& seen)
{
    if (seen.create_revision != holding.created)
        return false;
    if (seen.mod_revision > holding.modified) {
        auto const successor = std::ranges::find_if(
            holding.successors, [&](auto const& candidate) { return candidate.lease->id == seen.lease; });
        if (successor != holding.successors.end())
            adopt(node, holding, LeasePtr(successor->lease), seen.mod_revision);
    }
    return seen.mod_revision == holding.modified && seen.lease == holding.lease->id;
}

Instant good_until(Claim const& claim, Instant renewed, std::chrono::milliseconds ttl)
{
    auto until = renewed + ttl;
    for (auto const& successor : holding_of(claim).successors)
        until = std::min(until, good_until(*successor.lease, claim));
    return until;
}

void renew_with_new_lease(NodePtr const& node, RenewRequest request, ReplyHandler<RenewReply> handler)
{
    // a holder that asks for less has less from now on
    auto& holding = holding_of(*request.claim);
    holding.promised = std::min(holding.promised, node->runtime().now() + request.ttl);
    std::make_shared<Move>(node, std::move(request), true, std::move(handler))->start();
}

void settle(NodePtr const& node, RenewRequest request, RenewReply without, ReplyHandler<RenewReply> handler)
{
    auto& holding = holding_of(*request.claim);
    auto const now = node->runtime().now();
    if (now < holding.next_move) {
        std::move(handler)(std::move(without));
        return;
    }
    holding.next_move = now + Clock::duration(request.ttl) / move_patience;
    std::make_shared<Move>(
        node, std::move(request), true,
        [without = std::move(without), handler = std::move(handler)](RenewReply reply) mutable {
            bool const settled = std::holds_alternative<Renewed>(reply) || std::holds_alternative<NotOwner>(reply);
            std::move(handler)(settled ? std::move(reply) : std::move(without));
        })
        ->start();
}

void leave_lease_of_earlier_term(NodePtr const& node, RenewRequest const& renewed, std::uint64_t raft_term)
{
    auto& holding = holding_of(*renewed.claim);
    auto const now = node->runtime().now();
    if (holding.lease->raft_term >= raft_term || now < holding.next_move)
        return;
    holding.next_move = now + Clock::duration(renewed.ttl) / move_patience;
    RenewRequest request{renewed.claim, renewed.ttl, now + move_limit};
    std::make_shared<Move>(node, std::move(request), false, [](RenewReply const&) {})->start();
}

} // namespace tenure::etcd
