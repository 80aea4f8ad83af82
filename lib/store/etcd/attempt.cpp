// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Steps that all kinds of claims have.
#include "attempt.hpp"

#include <utility>

namespace tenure::etcd
{

store::Request<Stepped> begin_in_turn(AttemptPtr attempt)
{
    auto const& cluster = *attempt->cluster;
    auto its_turn = cluster.client->claims().turn(attempt->request.not_after);
    auto place = co_await its_turn;
    attempt->begin(std::move(place));
    if (attempt->stopped()) {
        // the caller's call may not have returned yet
        auto turn = store::next_turn(cluster.runtime());
        co_await turn;
        co_return Failure::dropped();
    }
    co_return std::monostate();
}

store::Request<Stepped> take_lease(AttemptPtr attempt)
{
    if (attempt->lease == nullptr) {
        auto const& request = attempt->request;
        auto take = as_step(Leases::take(
            attempt->cluster->leases, request.lifetime(), request.ttl, request.not_after, attempt->sender()));
        take.on_failure(not_written);
        attempt->lease = co_await take;
    }
    co_return std::monostate();
}

std::optional<Failure> put_failed(Attempt& attempt, Outcome outcome, std::string const& key)
{
    // a spare lease that the server has lost; without its lease nothing was put
    bool const lapsed = outcome.delivery == Delivery::answered &&
                        classify(outcome.status, outcome.body).lease_not_found && !std::exchange(attempt.lapsed, true);
    auto failed = failure(outcome, attempt.cluster->where(), key);
    if (!failed.may_take_effect())
        attempt.put_nothing();
    if (!lapsed)
        return failed;
    attempt.lease = nullptr;
    return std::nullopt;
}

store::Request<WithdrawReply> undo_put(AttemptPtr attempt)
{
    // The put may still arrive. Without its lease it fails.
    auto undo = revoke(attempt->cluster, attempt->state->lease, attempt->request.not_after, attempt->sender());
    undo.on_failure([attempt](Failure failure) {
        bool const refused = failure.effect == Failure::Effect::refused;
        return refused ? std::move(failure) : attempt->unknown("an earlier attempt is open");
    });
    auto const released = co_await undo;
    if (!attempt->stopped())
        attempt->state->lease = nullptr;
    co_return released;
}

} // namespace tenure::etcd
