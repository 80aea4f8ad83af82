// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims on one server. The situation decides which commands a claim sends:
//
// | situation                  | command                 | why                      | measured cost                |
// | -------------------------- | ----------------------- | ------------------------ | ---------------------------- |
// | single key without fencing | SET NX PX               | needs no script          |                              |
// | single key with fencing    | MULTI, SET NX PX, draw, | claims of one turn share | a token: 3 us for one claim, |
// |                            | EXEC                    | a token                  | a tenth where many share     |
// | that key is held           | script                  | reads the expiry, joins  |                              |
// |                            |                         | the line of waiters      |                              |
// | pool                       | script for each page of | finds and takes a key in | 0.4 us of the server for     |
// |                            | 4,096 keys              | one round trip           | each held key                |
// | pool whose front was held  | EXISTS for each part,   | finds the first gap      | half the server's time of a  |
// |                            | then the script         |                          | script over the same keys    |
// | one-page pool, several     | one script              | owners share one pass    | pool of 64: 5.9 times the    |
// | claims in one turn         |                         | over the keys            | pairs/s of separate calls    |
// | an answer is missing       | script; looks for the   | the owner may hold a key |                              |
// |                            | owner before a free key |                          |                              |
// | delay after a failover     | scripts with the run id | claims may be closed     |                              |
// | key that is held in places | script                  | the rule is in the store | an uncontended pair: 1.6     |
// |                            |                         |                          | times that of a plain key    |
// | vote with fencing          | SET NX PX, PTTL, GET,   | only the holder changes  | a tenth of a script          |
// |                            | TIME in one write       | the fence key            |                              |
//
// Costs are from docs/contributors/performance.md and the comments of the sources: by_set, in_transaction, by_page,
// from_pool, ../shares/claim and vote, one for each way. `Claims` (batch) groups claims and chooses the way; call has
// the parts that all ways share.
#pragma once

#include "runtime/names.hpp"
#include "store/redis/replies.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/server_context.hpp"

#include <store/claim_window.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** A claim and the handler of its answer. */
struct PendingClaim {
    ClaimRequest request;
    ReplyHandler<ClaimReply> handler;
    /// kept until the answer: another claim begins then
    store::ClaimWindow::Place place = {};
    /// of its next command: a claim that has begun goes before new ones
    resp::Urgency urgency = resp::Urgency::first;
};
using PendingClaims = std::vector<PendingClaim>;

/** Claims on one server, grouped into calls. At most as many have begun as the server needs to be busy
 *  (HedgedLink::most_claims); the others wait for their turn.
 *
 *  Claims of one turn of the loop share calls: a transaction for single keys with fencing, a script call for keys of
 *  one pool. A single claim is sent at once while no such call is pending, because waiting for others would cost it a
 *  turn. The previous turn tells whether to expect others. */
class Claims : public std::enable_shared_from_this<Claims>
{
public:
    /// Small enough that the server works on one call while this process prepares the next: with 64 pairs in flight,
    /// calls of 32 take 1.36 times as many pairs per second as calls of 64.
    static constexpr std::size_t owners_per_call = 32;

    explicit Claims(ServerPtr server)
        : server_(std::move(server))
    {
    }

    void add(ClaimRequest&& request, ReplyHandler<ClaimReply> handler);

private:
    /** The claims of one turn, or of two. */
    struct Gathered {
        /// claims of one group can share a call
        std::vector<PendingClaims> groups;
        /// has waited a second turn, because a call was pending
        bool has_waited = false;
    };

    void begin(PendingClaim&& pending);
    void gather(Gathered& gathered, PendingClaim&& pending);
    void flush_soon(std::shared_ptr<Gathered> gathered);
    void flush(Gathered& gathered);
    /// false: each claim is sent alone
    [[nodiscard]] bool may_join(PendingClaims const& claims) const;
    void send_alone(PendingClaim&& pending);
    void send(PendingClaims claims);

    ServerPtr server_;
    /// claims of this turn. The task that sends them owns them, because their handlers may own this object, and a
    /// destroyed context runs no task.
    std::weak_ptr<Gathered> gathered_;
    /// unanswered calls
    std::size_t under_way_ = 0;
    /// the last call carried several claims
    bool has_company_ = false;
};

/** See `VoterBackend::claim_vote`. */
void claim_vote(ServerPtr const& server, ClaimRequest request, ReplyHandler<ClaimReply> handler);

// -- one way each --

/** Claims the first free key of the range. A named key without fencing takes one command; other ranges take one script
 *  call per page until a key is free. If an earlier attempt of the owner is unanswered, the whole range is searched
 *  for it first. */
void claim(ServerPtr const& server, PendingClaim&& claim);

/** As `claim`, by scripts only. */
void claim_by_page(ServerPtr const& server, PendingClaim&& claim);

/** Continues a claim after a SET that found its key held. A waiter claims by script, which also puts it in the line;
 *  other claims only read the state of the key. */
void claim_held_key(ServerPtr const& server, PendingClaim&& claim);

/** Claims a place of a key that is held in places (shares/claim.cpp). */
void claim_place(ServerPtr const& server, PendingClaim&& claim);

/** True if `SET NX` suffices: a first attempt at a single key, which with fencing also needs a transaction. A claim
 *  that waits in line uses the script, because it probably finds the key held. */
[[nodiscard]] bool may_claim_by_set(ServerContext const& server, ClaimRequest const& request);

/** Claims single keys with fencing in one transaction: a `SET NX` for each key, and one token that all grants share.
 *  Requires `may_claim_by_set` for each claim.
 *  @param answered called when the transaction is answered, before the handlers */
void claim_in_transaction(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered);

/** Claims keys of a one-page pool for several owners in one script call. Requires first attempts with equal
 *  parameters.
 *  @param answered  called when the call is answered, before the handlers */
void claim_from_pool(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered);

// -- shared by all ways --

/** Reserves a place in the server's claim window. False: the window is full, so the claim must wait. */
[[nodiscard]] bool take_place(ServerContext& server, PendingClaim& claim);

/** Calls `begin` when the claim has a place. If it gets none before its deadline, the claim is answered. */
void await_place(ServerPtr const& server, PendingClaim claim, OneShot<void(PendingClaim&&)> begin);

/** Makes a call of a claiming script (see scripts.hpp) without the keys of the range.
 *  @param survey     a busy answer shall include the first expiry
 *  @param with_line  for a waiter: the script may use the line
 *  @param others     the further owners of `first_free_each`
 *  @param may_close  the script is one that checks for a failover */
[[nodiscard]] ScriptCall claim_call(
    ServerContext const& server, Script const& script, ClaimRequest const& request, bool survey, bool with_line,
    std::span<PendingClaim const> others, bool may_close);

/** The earliest deadline of the claims, for the call that they share. If that call is dropped, each claim is sent
 *  again. */
[[nodiscard]] Deadline earliest_deadline(PendingClaims const& claims);

/** Of a call that is about to be written: notes the progress of its claims, and takes out those that are too late. They
 *  are answered after the caller has returned. */
void drop_late(ServerContext& server, PendingClaims& claims, Instant now);

/** Calls the handler of each claim. */
template <class ReplyTo>
void answer_all(PendingClaims& claims, ReplyTo reply_to)
{
    for (auto& claim : claims)
        std::move(claim.handler)(ClaimReply(reply_to(claim.request)));
}

/** Makes the reply to a grant: a failure if too few replicas have acknowledged it. */
[[nodiscard]] ClaimReply
confirmed(ServerContext const& server, KeyRange const& range, Granted granted, Outcome const& outcome);

/** Makes the failure of a claim that the server refused without writing.
 *  @param counter  of its fencing tokens */
[[nodiscard]] Failure
refuse_claim(ServerContext& server, resp::Value const& error, std::string_view what, std::string const& counter);

/** As `failure_of`, for a claim. */
[[nodiscard]] Failure failure_of_claim(ServerContext& server, Outcome const& outcome, KeyRange const& range);

/** Makes the reply while claims are closed after a failover. */
[[nodiscard]] Busy closed_reply(ServerContext& server, PageClosed const& closed);

/** Adds the held keys of a page to a survey. */
void add(Survey& seen, PageHeld const& held);

/** Records an error of the line, if the server refused the waiter's place in it. */
void note_place(ServerContext& server, KeyRange const& range, PageHeld const& held);

} // namespace tenure::redis
