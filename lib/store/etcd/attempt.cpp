// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Steps that all kinds of claims have.
#include "attempt.hpp"

#include <utility>

namespace tenure::etcd
{

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
