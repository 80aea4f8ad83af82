// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Release, detachment, withdrawal and eviction on PostgreSQL.
#include "operations.hpp"

#include <tenure/errc.hpp>

#include <chrono>

namespace tenure::postgresql
{

namespace
{

Failure locked(Client const& client, std::string const& what)
{
    return Failure::refused(errc::store_refused, client.where() + ": " + what + ": a row is locked");
}

} // namespace

store::Request<ReleaseReply> release(ClientPtr client, ReleaseRequest request)
{
    auto const& claim = *request.claim;
    auto const& keep = request.keep_for;
    Values values{claim.key(), claim.owner, std::to_string(claim.reuse_after.count()), std::nullopt};
    if (keep)
        values.back() = std::to_string(keep->count());
    auto query = client->query(release_sql, std::move(values), request.not_after, Query::Line::releases);
    if (!keep && request.notifications && client->config()->notifications)
        query.announces = waited_name(*claim.range);
    auto asking = ask(client, std::move(query));
    auto const answer = co_await asking;

    auto const code = answer.result.number(0);
    if (code == 1)
        co_return Released{};
    if (code == 0)
        co_return NotOwner{};
    co_return locked(*client, claim.key());
}

store::Request<WithdrawReply> withdraw(ClientPtr client, WithdrawRequest request)
{
    auto query = client->query(
        "SELECT tenure.withdraw($1, $2, $3, $4, $5, $6)",
        values_of(*request.range, {request.owner, std::to_string(request.reuse_after.count())}), request.not_after,
        Query::Line::releases);
    query.keys = request.range->count;
    if (request.notifications && client->config()->notifications)
        query.announces = waited_name(*request.range);
    auto asking = ask(client, std::move(query));
    auto const answer = co_await asking;

    if (answer.result.number(0) != 0)
        co_return locked(*client, request.range->describe());
    co_return Released{};
}

store::Request<EvictReply> evict(ClientPtr client, EvictRequest request)
{
    auto const key = request.range->key(request.index);
    auto query = client->query(
        "SELECT tenure.evict($1, $2, $3)", {key, request.owner, request.evicted_by}, request.not_after,
        Query::Line::releases);
    auto asking = ask(client, std::move(query));
    auto const answer = co_await asking;

    auto const left = answer.result.number(0);
    if (!left)
        co_return NotOwner{};
    if (*left == -1)
        co_return Failure::refused(
            errc::key_conflict,
            client->where() + ": " + key +
                ": never expires, so it is not a lease; delete its row by hand if no program uses it",
            true);
    if (*left < 0)
        co_return locked(*client, key);
    co_return Evicted{std::chrono::milliseconds(*left)};
}

} // namespace tenure::postgresql
