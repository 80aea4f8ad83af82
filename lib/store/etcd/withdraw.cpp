// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "range_keys.hpp"
#include "release.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <chrono>
#include <memory>
#include <utility>
#include <variant>

namespace tenure::etcd
{

namespace
{

class Withdrawal : public std::enable_shared_from_this<Withdrawal>
{
public:
    Withdrawal(NodePtr node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
        : node_(std::move(node))
        , request_(std::move(request))
        , handler_(std::move(handler))
    {
    }

    void start()
    {
        auto const state = node_->owners.find(request_.owner);
        if (state != nullptr)
            state->withdrawn = true;
        if (state == nullptr || state->lease == nullptr) {
            search(whole(*request_.range));
            return;
        }
        state->over_at = node_->runtime().now() + Clock::duration(std::chrono::seconds(state->lease->granted));
        // the key goes with the lease, and a put that is still on its way fails without it
        node_->leases->revoke(
            state->lease, request_.not_after, [self = shared_from_this(), state](WithdrawReply reply) {
                if (std::holds_alternative<Released>(reply)) {
                    state->lease = nullptr;
                    self->node_->owners.forget(self->request_.owner, state);
                }
                self->finish(std::move(reply));
            });
    }

private:
    void search(Keys const& keys)
    {
        Call call;
        call.path = "kv/range";
        call.body = range_body(keys, {keys_with_values, false});
        call.not_after = request_.not_after;
        call.reply_bytes = bytes_with_values;
        node_->client->call(std::move(call), [self = shared_from_this(), end = keys.end](Outcome outcome) {
            self->searched(std::move(outcome), end);
        });
    }

    void searched(Outcome outcome, std::string const& end)
    {
        if (!outcome.good()) {
            finish(failure(std::move(outcome), node_->where(), request_.range->describe()));
            return;
        }
        auto const reply = parse_range(outcome.body);
        if (!reply) {
            finish(nonsense(node_->where(), request_.range->describe()));
            return;
        }
        Keys rest{reply->more && !reply->found.empty() ? next_key(reply->found.back().key) : std::string(), end};
        for (auto const& entry : reply->found)
            if (entry.value == request_.owner && index_of(*request_.range, entry.key)) {
                // there may be another one
                remove(entry, {next_key(entry.key), end.empty() ? next_key(entry.key) : end});
                return;
            }
        if (rest.key.empty())
            finish(Released{});
        else
            search(rest);
    }

    void remove(KeyValue const& entry, Keys rest)
    {
        if (request_.reuse_after == std::chrono::milliseconds{0}) {
            end(entry, std::move(rest), nullptr);
            return;
        }
        node_->leases->grant(
            request_.reuse_after, request_.not_after,
            [self = shared_from_this(), entry, rest = std::move(rest)](Leases::Taken taken) mutable {
                // one that is not used lapses
                if (auto const* const lease = std::get_if<LeasePtr>(&taken))
                    self->end(entry, std::move(rest), *lease);
                else
                    self->finish(without_lease(std::move(taken)));
            });
    }

    void end(KeyValue const& entry, Keys rest, LeasePtr const& resting_lease)
    {
        Transaction transaction;
        transaction.if_created_at(entry.key, entry.create_revision).if_value(entry.key, request_.owner);
        end_claim(transaction, entry.key, request_.owner, resting_lease);
        Call call;
        call.path = "kv/txn";
        call.body = transaction.body();
        call.not_after = request_.not_after;
        node_->client->call(
            std::move(call),
            [self = shared_from_this(), key = entry.key, rest = std::move(rest)](Outcome outcome) mutable {
                if (!outcome.good())
                    self->finish(failure(std::move(outcome), self->node_->where(), key));
                else if (!parse_transaction(outcome.body))
                    self->finish(nonsense(self->node_->where(), key));
                else if (rest.key >= rest.end)
                    self->finish(Released{});
                else
                    self->search(rest);
            });
    }

    void finish(WithdrawReply reply) { std::move(handler_)(std::move(reply)); }

    NodePtr node_;
    WithdrawRequest request_;
    ReplyHandler<WithdrawReply> handler_;
};

} // namespace

void withdraw(NodePtr const& node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    std::make_shared<Withdrawal>(node, std::move(request), std::move(handler))->start();
}

} // namespace tenure::etcd
