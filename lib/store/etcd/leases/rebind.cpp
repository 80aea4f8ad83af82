// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Moves of a held key to another lease.
#include "rebind.hpp"

#include "store/etcd/steps.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// deadline for sending a move for which no holder waits
constexpr auto move_limit = 5s;
/// fraction of the ttl: after this time without an answer to a move, another move may begin
constexpr std::int64_t move_patience = 4;

/** The key has this lease now. Earlier moves can no longer take effect. */
void adopt(ClusterContext& cluster, HeldKey& held, LeasePtr lease, std::uint64_t modified)
{
    std::swap(held.lease, lease);
    cluster.leases->discard(lease);
    held.modified = modified;
    std::erase_if(held.successors, [&](HeldKey::Successor const& successor) {
        if (successor.lease == held.lease)
            return true;
        if (successor.if_modified >= modified)
            return false;
        cluster.leases->discard(successor.lease);
        return true;
    });
}

/** The instant until which a holder may rely on a key with this lease. The rest of the lease is the key's quarantine.
 */
Instant end_of(Lease const& lease, Claim const& claim)
{
    return lease.since + Clock::duration(std::chrono::seconds(lease.granted)) - Clock::duration(claim.reuse_after);
}

/** Binds the key to the lease if the key has not changed since, and otherwise reads the key. */
HttpRequest put_request(RenewRequest const& request, std::string const& key, Lease const& lease, bool awaited)
{
    auto const& claim = *request.claim;
    Transaction transaction;
    transaction.if_modified_at(key, held_key_of(claim).modified);
    transaction.then_put(key, value_for(claim, claim.owner), lease.id).else_read({key, {}}, {0, true});
    HttpRequest http_request{"kv/txn", transaction.body(), request.not_after};
    http_request.sender.line = awaited ? Line::renewals : Line::later_steps;
    http_request.unless_ended = request.claim;
    http_request.reply_bytes = reply_bytes(*claim.range, 1);
    return http_request;
}

/** A move of a held key to a new lease. */
struct Move {
    ClusterContext& cluster;
    RenewRequest const& request;
    /// a holder waits for it
    bool awaited;
    LeasePtr lease;
    std::string const key = entry_of(*request.claim);
    HeldKey& held = held_key_of(*request.claim);

    void forget_successor()
    {
        std::erase_if(held.successors, [&](auto const& successor) { return successor.lease == lease; });
    }

    /** No key has the lease. */
    void give_up_lease()
    {
        forget_successor();
        if (!lease->revoked)
            cluster.leases->discard(lease);
    }

    [[nodiscard]] RenewReply fail(char const* why)
    {
        give_up_lease();
        return doubt(cluster, key, why);
    }

    /** The reply that the transaction gives; nullopt: it is to be repeated. */
    [[nodiscard]] std::optional<RenewReply> judge(TransactionReply const& moved)
    {
        auto const revision = moved.header.revision;
        if (moved.succeeded && revision < held.modified) // a later move of the key was answered earlier
            return fail("another renewal has overtaken this one");
        if (moved.succeeded) {
            if (held.lease != lease)
                adopt(cluster, held, lease, revision);
            Renewed const renewed{usable_ttl(request.ttl, request.claim->reuse_after, lease->granted), lease->since};
            if (awaited)
                held.promised = std::max(held.promised, renewed.since + renewed.ttl);
            return renewed;
        }
        // An earlier request whose answer was lost may have moved the key.
        forget_successor();
        auto const& seen = moved.reads.front().found;
        if (!seen.empty() && seen.front().mod_revision < held.modified)
            return fail("what was read is older than what is known of the key");
        if (!seen.empty() && recognize(cluster, held, seen.front()))
            return std::nullopt;
        give_up_lease();
        return NotOwner{};
    }
};

} // namespace

bool recognize(ClusterContext& cluster, HeldKey& held, KeyValue const& seen)
{
    if (seen.create_revision != held.created)
        return false;
    if (seen.mod_revision > held.modified) {
        auto const successor = std::ranges::find_if(
            held.successors, [&](auto const& candidate) { return candidate.lease->id == seen.lease; });
        if (successor != held.successors.end())
            adopt(cluster, held, LeasePtr(successor->lease), seen.mod_revision);
    }
    return seen.mod_revision == held.modified && seen.lease == held.lease->id;
}

Instant good_until(Claim const& claim, Instant renewed, std::chrono::milliseconds ttl)
{
    auto until = renewed + ttl;
    for (auto const& successor : held_key_of(claim).successors)
        until = std::min(until, end_of(*successor.lease, claim));
    return until;
}

Failure doubt(ClusterContext const& cluster, std::string const& key, char const* why)
{
    return Failure::unknown(errc::store_unavailable, cluster.where() + ": " + key + ": " + why);
}

// Moves the key in a transaction that binds it to the lease if it has not changed since; otherwise it reads the key.
store::Request<RenewReply> move_to_new_lease(ClusterPtr cluster, RenewRequest request, bool awaited)
{
    Sender const sender{.line = awaited ? Line::renewals : Line::later_steps};
    auto new_lease = grant(cluster, request.lifetime(), request.not_after, sender);
    auto lease = co_await new_lease;
    Move move{*cluster, request, awaited, std::move(lease)};
    for (;;) {
        // Another move has superseded this one. Or the earlier lease was renewed after the grant of this one, and the
        // holder relies on that; with such slow grants the next move can wait.
        bool const too_short = end_of(*move.lease, *request.claim) < move.held.promised;
        if (too_short)
            move.held.next_move = cluster->runtime().now() + request.ttl;
        if (too_short || move.lease->revoked)
            co_return move.fail("another renewal has overtaken this one");
        auto put = send(cluster->client, put_request(request, move.key, *move.lease, awaited));
        move.held.successors.push_back({move.lease, move.held.modified});
        auto outcome = co_await put;

        auto reply = read_reply(std::move(outcome), cluster->where(), move.key, parse_transaction);
        auto const* const moved = std::get_if<TransactionReply>(&reply);
        if (moved == nullptr || (!moved->succeeded && moved->reads.size() != 1)) {
            auto failed =
                moved == nullptr ? std::get<Failure>(std::move(reply)) : malformed_reply(cluster->where(), move.key);
            if (!failed.may_take_effect())
                move.give_up_lease();
            co_return failed;
        }
        cluster->leases->note(moved->header);
        if (auto judged = move.judge(*moved))
            co_return std::move(*judged);
    }
}

bool may_move(ClusterContext const& cluster, RenewRequest const& request)
{
    auto& held = held_key_of(*request.claim);
    auto const now = cluster.runtime().now();
    if (now < held.next_move)
        return false;
    held.next_move = now + Clock::duration(request.ttl) / move_patience;
    return true;
}

void leave_lease_of_earlier_term(ClusterPtr const& cluster, RenewRequest const& renewed, std::uint64_t raft_term)
{
    if (held_key_of(*renewed.claim).lease->raft_term >= raft_term || !may_move(*cluster, renewed))
        return;
    RenewRequest request{renewed.claim, renewed.ttl, cluster->runtime().now() + move_limit};
    move_to_new_lease(cluster, std::move(request), false).start([](RenewReply const&) {});
}

} // namespace tenure::etcd
