// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "renewals.hpp"

#include "store/etcd/steps.hpp"

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

/** Binds the key to the lease if nobody has written the key since, and otherwise reads the key. */
Call put_call(RenewRequest const& request, std::string const& key, Lease const& lease, bool awaited)
{
    auto const& claim = *request.claim;
    Transaction transaction;
    transaction.if_modified_at(key, holding_of(claim).modified);
    transaction.then_put(key, claim.owner, lease.id).else_read({key, {}}, {0, true});
    Call call{"kv/txn", transaction.body(), request.not_after};
    call.urgent = awaited;
    call.unless_ended = request.claim;
    call.reply_bytes = reply_bytes(*claim.range, 1);
    return call;
}

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

Failure doubt(Node const& node, std::string const& key, char const* why)
{
    return Failure::unknown(errc::store_unavailable, node.where() + ": " + key + ": " + why);
}

// A transaction binds the key to the lease if nobody has written the key since; else it shows what the key is.
store::Coroutine<RenewReply> move_to_new_lease(NodePtr node, RenewRequest request, bool awaited)
{
    auto const& claim = *request.claim;
    auto& holding = holding_of(claim);
    auto const key = claim.key();
    auto new_lease = grant(node, request.lifetime(), request.not_after);
    auto const lease = co_await new_lease;

    auto const forget_successor = [&] {
        std::erase_if(holding.successors, [&](auto const& successor) { return successor.lease == lease; });
    };
    // no key bears it
    auto const give_up_lease = [&] {
        forget_successor();
        if (!lease->revoked)
            node->leases->discard(lease);
    };
    for (;;) {
        // Another move has made this one void; or the earlier lease was renewed after this one was granted, its holder
        // counts on that, and where grants are so slow the next one need not be tried at once.
        bool const too_short = good_until(*lease, claim) < holding.promised;
        if (too_short)
            holding.next_move = node->runtime().now() + request.ttl;
        if (too_short || lease->revoked) {
            give_up_lease();
            co_return doubt(*node, key, "another renewal has overtaken this one");
        }
        auto put = send(node, put_call(request, key, *lease, awaited));
        holding.successors.push_back({lease, holding.modified});
        auto outcome = co_await put;

        auto reply = read_reply(std::move(outcome), node->where(), key, parse_transaction);
        auto const* const moved = std::get_if<TransactionReply>(&reply);
        if (moved == nullptr || (!moved->succeeded && moved->reads.size() != 1)) {
            auto failed = moved == nullptr ? std::get<Failure>(std::move(reply)) : nonsense(node->where(), key);
            if (!failed.may_take_effect())
                give_up_lease();
            co_return failed;
        }
        node->leases->note(moved->header);
        auto const revision = moved->header.revision;
        if (moved->succeeded && revision < holding.modified) {
            // the key has moved on since, and that was answered earlier
            give_up_lease();
            co_return doubt(*node, key, "another renewal has overtaken this one");
        }
        if (moved->succeeded) {
            if (holding.lease != lease)
                adopt(*node, holding, lease, revision);
            Renewed const renewed{usable_ttl(request.ttl, claim.reuse_after, lease->granted), lease->since};
            if (awaited)
                holding.promised = std::max(holding.promised, renewed.since + renewed.ttl);
            co_return renewed;
        }
        // The key may have been moved by an earlier request whose answer was lost.
        forget_successor();
        auto const& seen = moved->reads.front().found;
        if (!seen.empty() && seen.front().mod_revision < holding.modified) {
            give_up_lease();
            co_return doubt(*node, key, "what was read is older than what is known of the key");
        }
        if (seen.empty() || !recognize(*node, holding, seen.front())) {
            give_up_lease();
            co_return NotOwner{};
        }
    }
}

bool may_move(Node const& node, RenewRequest const& request)
{
    auto& holding = holding_of(*request.claim);
    auto const now = node.runtime().now();
    if (now < holding.next_move)
        return false;
    holding.next_move = now + Clock::duration(request.ttl) / move_patience;
    return true;
}

void leave_lease_of_earlier_term(NodePtr const& node, RenewRequest const& renewed, std::uint64_t raft_term)
{
    if (holding_of(*renewed.claim).lease->raft_term >= raft_term || !may_move(*node, renewed))
        return;
    RenewRequest request{renewed.claim, renewed.ttl, node->runtime().now() + move_limit};
    move_to_new_lease(node, std::move(request), false).start([](RenewReply const&) {});
}

} // namespace tenure::etcd
