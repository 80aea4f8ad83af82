// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "operations.hpp"

#include <utility>

namespace tenure::zookeeper
{

namespace
{

[[nodiscard]] RenewReply judge_read(Ensemble const& ensemble, Holding& holding, Answer const& write, Answer const& read)
{
    auto const& answer = is_answered(write.code) ? read : write;
    if (holding.state == Holding::State::gone || answer.code == ZNONODE) {
        ensemble.ledger().remove(holding);
        return NotOwner{};
    }
    if (answer.code != ZOK)
        return ensemble.failure(answer, holding.range->key(holding.index));
    if (!holding.owned(answer)) {
        if (!holding.made(answer))
            ensemble.ledger().remove(holding);
        return NotOwner{};
    }
    Renewed const renewed{holding.session->timeout(), holding.session->proven()};
    ensemble.ledger().extend(holding, renewed.since + renewed.ttl);
    return renewed;
}

} // namespace

void renew(EnsemblePtr const& ensemble, RenewRequest request, ReplyHandler<RenewReply> handler)
{
    auto const holding = ensemble->ledger().of(*request.claim);
    if (holding == nullptr || !holding->session->connected()) {
        auto reply = holding == nullptr ? RenewReply(NotOwner{}) : RenewReply(holding->session->why_not_connected());
        ensemble->runtime().post(
            [handler = std::move(handler), reply = std::move(reply)]() mutable { handler(std::move(reply)); });
        return;
    }
    auto const wanted = [ensemble, claim = request.claim, not_after = request.not_after] {
        return !claim->ended && ensemble->runtime().now() <= not_after;
    };
    holding->session->read_with_next_write(
        holding->path, wanted,
        [ensemble, holding, handler = std::move(handler)](Answer const& write, Answer const& read) mutable {
            handler(judge_read(*ensemble, *holding, write, read));
        });
}

} // namespace tenure::zookeeper
