// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "rebind.hpp"

#include "gateway_error.hpp"
#include "range_keys.hpp"

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
/// of the ttl: after so long without an answer to one another may be begun, which makes the first one void
constexpr std::int64_t move_patience = 12;

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
        node_->leases->grant(request_.ttl, request_.not_after, [self = shared_from_this()](Leases::Taken taken) {
            if (auto* const lease = std::get_if<LeasePtr>(&taken)) {
                self->lease_ = std::move(*lease);
                self->put();
            } else if (auto* const refused = std::get_if<Refused>(&taken)) {
                self->finish(std::move(*refused));
            } else if (auto* const not_sent = std::get_if<NotSent>(&taken)) {
                self->finish(std::move(*not_sent));
            } else {
                self->finish(std::move(std::get<Unknown>(taken)));
            }
        });
    }

private:
    [[nodiscard]] Claim const& claim() const noexcept { return *request_.claim; }
    [[nodiscard]] Holding& holding() const noexcept { return holding_of(claim()); }

    void put()
    {
        // The earlier lease was renewed after this one was granted, and its holder counts on that.
        if (lease_->seconds == holding().lease->seconds && lease_->since < holding().lease->since) {
            node_->leases->discard(lease_);
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
            auto result = outcome.good() ? RenewReply(nonsense(node_->where(), claim().key()))
                                         : failure<RenewReply>(std::move(outcome), node_->where(), claim().key());
            if (!std::holds_alternative<Unknown>(result))
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
        finish(Renewed{usable_ttl(request_.ttl, lease_->granted), lease_->since});
    }

    /** The key may have been moved by an earlier request that nobody heard of. */
    void put_was_not_done(RangeReply const& read)
    {
        std::erase_if(holding().successors, [&](auto const& successor) { return successor.lease == lease_; });
        if (!read.found.empty() && read.found.front().mod_revision < holding().modified) {
            node_->leases->discard(lease_);
            finish(doubt("what was read is older than what is known of the key"));
        } else if (read.found.empty() || !recognize(*node_, holding(), read.found.front())) {
            node_->leases->discard(lease_);
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

    [[nodiscard]] Unknown doubt(char const* what) const
    {
        return {errc::store_unavailable, node_->where() + ": " + claim().key() + ": " + what};
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

Instant since_when(Holding const& holding, std::chrono::milliseconds ttl, Instant renewed)
{
    for (auto const& [lease, if_modified] : holding.successors)
        renewed = std::min(renewed, lease->since + Clock::duration(std::chrono::seconds(lease->granted)) - ttl);
    return renewed;
}

void renew_with_new_lease(NodePtr const& node, RenewRequest request, ReplyHandler<RenewReply> handler)
{
    std::make_shared<Move>(node, std::move(request), true, std::move(handler))->start();
}

void leave_earlier_lease(NodePtr const& node, RenewRequest const& renewed, std::uint64_t raft_term)
{
    auto& holding = holding_of(*renewed.claim);
    auto const now = node->runtime().now();
    if (now < holding.next_move || (holding.lease->raft_term >= raft_term && holding.successors.empty()))
        return;
    holding.next_move = now + Clock::duration(renewed.ttl) / move_patience;
    RenewRequest request{renewed.claim, renewed.ttl, now + move_limit};
    std::make_shared<Move>(node, std::move(request), false, [](RenewReply const&) {})->start();
}

} // namespace tenure::etcd
