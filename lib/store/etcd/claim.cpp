// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim.hpp"

#include "range_keys.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace tenure::etcd
{

namespace
{

/// of a range whose key was taken by another one; where there are more they are looked at anew
constexpr std::size_t keys_seen_on_conflict = 1024;
/// so many of the free keys, the first ones, are worth trying where others take them at the same time
constexpr std::size_t choice = 16;

/** One attempt of an owner: a lease, a look at the range where it has several keys, and a transaction that puts the key
 * if it is absent. What it finds held is looked at in the same transaction. */
class Attempt : public std::enable_shared_from_this<Attempt>
{
public:
    Attempt(NodePtr node, ClaimRequest request, ReplyHandler<ClaimReply> handler)
        : node_(std::move(node))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , state_(node_->owners.begin(request_.owner, node_->runtime().now()))
        , number_(state_->attempt)
    {
    }

    void start()
    {
        if (request_.earliest_attempt)
            search(whole(*request_.range));
        else
            take_lease();
    }

private:
    [[nodiscard]] bool stopped() const noexcept { return state_->withdrawn || state_->attempt != number_; }

    // -- what an earlier attempt has left --

    void search(Keys const& keys)
    {
        // by its lease where that is known; else by the owner in its value
        bool const by_lease = state_->lease != nullptr;
        Call call;
        call.path = "kv/range";
        call.body = range_body(keys, {by_lease ? keys_per_page : keys_with_values, by_lease});
        call.not_after = request_.not_after;
        call.reply_bytes = by_lease ? reply_bytes(*request_.range, keys_per_page) : bytes_with_values;
        node_->client->call(std::move(call), [self = shared_from_this(), end = keys.end](Outcome outcome) {
            self->searched(std::move(outcome), end);
        });
    }

    void searched(Outcome outcome, std::string const& end)
    {
        if (!outcome.good()) {
            fail(failure(std::move(outcome), node_->where(), request_.range->describe()));
            return;
        }
        auto const reply = parse_range(outcome.body);
        if (!reply) {
            fail(nonsense(node_->where(), request_.range->describe()));
            return;
        }
        if (stopped()) {
            fail(Failure::dropped());
            return;
        }
        for (auto const& entry : reply->found)
            if ((state_->lease != nullptr && entry.lease == state_->lease->id) || entry.value == request_.owner)
                if (auto const index = index_of(*request_.range, entry.key); index && entry.lease != 0) {
                    found_own(entry, *index, reply->header);
                    return;
                }
        if (reply->more && !reply->found.empty())
            search({next_key(reply->found.back().key), end});
        else if (state_->lease != nullptr)
            undo();
        else
            take_lease();
    }

    void found_own(KeyValue const& entry, std::uint32_t index, Header const& header)
    {
        auto lease = state_->lease != nullptr && state_->lease->id == entry.lease ? state_->lease
                                                                                  : node_->leases->known(entry.lease);
        if (lease == nullptr) {
            // of an attempt that is not known any more: no more than half of its ttl had gone by then
            lease = std::make_shared<Lease>();
            lease->id = entry.lease;
            lease->seconds = lease->granted = whole_seconds(request_.lifetime());
            lease->since = *request_.earliest_attempt - std::chrono::seconds(lease->granted) * 9 / 16;
        }
        node_->leases->prove(*lease, header);
        if (lease->revoked)
            fail(Failure::unknown(errc::store_unavailable, node_->where() + ": the claim is being given back"));
        else
            granted(std::move(lease), index, entry.create_revision, entry.mod_revision);
    }

    /** The put of the earlier attempt may still be on its way. Without its lease it fails, whenever it comes. */
    void undo()
    {
        node_->leases->revoke(state_->lease, request_.not_after, [self = shared_from_this()](WithdrawReply reply) {
            auto* const failure = std::get_if<Failure>(&reply);
            if (failure == nullptr)
                self->undone();
            else if (failure->effect == Failure::Effect::refused)
                self->fail(std::move(*failure));
            else
                self->fail(
                    Failure::unknown(errc::store_unavailable, self->node_->where() + ": an earlier attempt is open"));
        });
    }

    void undone()
    {
        if (!stopped())
            state_->lease = nullptr;
        take_lease();
    }

    // -- a free key --

    void take_lease()
    {
        node_->leases->take(
            request_.lifetime(), request_.ttl, request_.not_after, [self = shared_from_this()](Leases::Taken taken) {
                if (auto* const lease = std::get_if<LeasePtr>(&taken)) {
                    self->lease_ = std::move(*lease);
                    self->begin_look();
                } else {
                    self->fail(without_lease(std::move(taken)));
                }
            });
    }

    void begin_look()
    {
        held_.assign(request_.range->count, false);
        held_count_ = foreign_count_ = 0;
        if (request_.range->count == 1)
            put(0);
        else
            look(whole(*request_.range));
    }

    void look(Keys const& keys)
    {
        Call call;
        call.path = "kv/range";
        call.body = range_body(keys, {keys_per_page, true});
        call.not_after = request_.not_after;
        call.reply_bytes = reply_bytes(*request_.range, keys_per_page);
        node_->client->call(std::move(call), [self = shared_from_this(), end = keys.end](Outcome outcome) {
            self->looked(std::move(outcome), end);
        });
    }

    void looked(Outcome outcome, std::string const& end)
    {
        if (!outcome.good()) {
            fail(not_written(failure(std::move(outcome), node_->where(), request_.range->describe())));
            return;
        }
        auto const reply = parse_range(outcome.body);
        if (!reply) {
            fail(not_written(nonsense(node_->where(), request_.range->describe())));
            return;
        }
        note(*reply);
        if (reply->more && !reply->found.empty())
            look({next_key(reply->found.back().key), end});
        else
            choose();
    }

    void note(RangeReply const& reply)
    {
        for (auto const& entry : reply.found)
            if (auto const index = index_of(*request_.range, entry.key); index && !held_[*index]) {
                held_[*index] = true;
                ++held_count_;
                foreign_count_ += entry.lease == 0 ? 1U : 0U;
            }
    }

    /** The first free key; where somebody was faster, one of the first, so that the two do not meet again. */
    void choose()
    {
        if (held_count_ == request_.range->count) {
            busy();
            return;
        }
        std::vector<std::uint32_t> candidates;
        std::optional<std::uint32_t> being_taken;
        for (std::uint32_t i = 0; i < request_.range->count && candidates.size() < (tries_ == 0 ? 1 : choice); ++i) {
            if (held_[i])
                continue;
            if (!node_->being_taken.contains({request_.range->prefix, request_.range->first + i}))
                candidates.push_back(i);
            else if (!being_taken)
                being_taken = i;
        }
        if (candidates.empty())
            put(*being_taken);
        else
            put(candidates[tries_ == 0 ? 0 : node_->runtime().random() % candidates.size()]);
    }

    void put(std::uint32_t index)
    {
        if (stopped() || request_.not_after.over(node_->runtime().now())) {
            // with a spare lease this is still inside of the call that asks for the claim
            node_->runtime().post([self = shared_from_this()] { self->fail(Failure::dropped()); });
            return;
        }
        auto const key = request_.range->key(index);
        Transaction transaction;
        transaction.if_absent(key).then_put(key, request_.owner, lease_->id);
        auto const seen = std::min<std::size_t>(keys_seen_on_conflict, request_.range->count + 64);
        transaction.else_read(whole(*request_.range), {seen, true});
        state_->lease = lease_;
        node_->being_taken.emplace(request_.range->prefix, request_.range->first + index);
        Call call;
        call.path = "kv/txn";
        call.body = transaction.body();
        call.not_after = request_.not_after;
        call.reply_bytes = reply_bytes(*request_.range, seen);
        node_->client->call(std::move(call), [self = shared_from_this(), index](Outcome outcome) {
            self->node_->being_taken.erase({self->request_.range->prefix, self->request_.range->first + index});
            self->put_answered(index, std::move(outcome));
        });
    }

    void put_answered(std::uint32_t index, Outcome outcome)
    {
        if (!outcome.good()) {
            put_failed(index, std::move(outcome));
            return;
        }
        auto const reply = parse_transaction(outcome.body);
        if (!reply || (!reply->succeeded && reply->reads.size() != 1)) {
            fail(nonsense(node_->where(), request_.range->key(index)));
            return;
        }
        node_->leases->prove(*lease_, reply->header);
        if (reply->succeeded) {
            if (stopped() || lease_->revoked)
                fail(Failure::unknown(errc::store_unavailable, node_->where() + ": another attempt has begun"));
            else
                granted(std::move(lease_), index, reply->header.revision, reply->header.revision);
            return;
        }
        settled();
        ++tries_;
        if (reply->reads.front().more) {
            begin_look();
            return;
        }
        std::fill(held_.begin(), held_.end(), false);
        held_count_ = foreign_count_ = 0;
        note(reply->reads.front());
        choose();
    }

    void put_failed(std::uint32_t index, Outcome outcome)
    {
        bool const lapsed = outcome.delivery == Delivery::answered &&
                            classify(outcome.status, outcome.body).lease_not_found && !std::exchange(lapsed_, true);
        auto result = failure(std::move(outcome), node_->where(), request_.range->key(index));
        if (!result.may_take_effect())
            settled();
        if (!lapsed) {
            fail(std::move(result));
            return;
        }
        // a spare one that the server has lost; without its lease nothing was put
        lease_ = nullptr;
        take_lease();
    }

    /** The last put has surely done nothing. */
    void settled()
    {
        if (state_->lease == lease_)
            state_->lease = nullptr;
    }

    // -- the end --

    void granted(LeasePtr lease, std::uint32_t index, std::uint64_t created, std::uint64_t modified)
    {
        state_->lease = nullptr;
        state_->granted = lease;
        node_->owners.forget(request_.owner, state_);
        Granted grant;
        grant.index = index;
        grant.fencing_token = request_.fencing ? created : 0;
        grant.ttl = usable_ttl(request_.ttl, request_.reuse_after, lease->granted);
        grant.since = lease->since;
        auto const promised = grant.since + grant.ttl;
        grant.handle = std::make_shared<Holding>(Holding{std::move(lease), {}, created, modified, promised});
        std::move(handler_)(ClaimReply(std::move(grant)));
    }

    void busy()
    {
        give_lease_back();
        Busy busy;
        busy.never_frees = foreign_count_ == held_count_;
        std::move(handler_)(ClaimReply(busy));
    }

    void fail(Failure result)
    {
        give_lease_back();
        std::move(handler_)(ClaimReply(std::move(result)));
    }

    void give_lease_back()
    {
        // what a put of unknown outcome may have used stays with the owner, and what a later attempt found with the key
        if (lease_ != nullptr && state_->lease != lease_ && state_->granted != lease_)
            node_->leases->give_back(std::move(lease_));
        if (state_->lease == nullptr && state_->attempt == number_)
            node_->owners.forget(request_.owner, state_);
    }

    NodePtr node_;
    ClaimRequest request_;
    ReplyHandler<ClaimReply> handler_;
    OwnerStatePtr state_;
    std::uint64_t number_;
    LeasePtr lease_;
    /// as last seen, by index
    std::vector<bool> held_;
    std::uint32_t held_count_ = 0;
    /// of those: without a lease, so they never free by themselves
    std::uint32_t foreign_count_ = 0;
    /// puts that found their key held
    unsigned tries_ = 0;
    bool lapsed_ = false;
};

} // namespace

void claim(NodePtr const& node, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    std::make_shared<Attempt>(node, std::move(request), std::move(handler))->start();
}

} // namespace tenure::etcd
