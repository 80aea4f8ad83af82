// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims and renewals on PostgreSQL.
#include "operations.hpp"

#include <tenure/errc.hpp>

#include <algorithm>

namespace tenure::postgresql
{

namespace
{

constexpr std::size_t most_renewals = 256;
constexpr char const* not_on_standbys =
    ": committed, but the standbys that the server waits for have not confirmed it (synchronous_standby_names)";

Failure malformed(Client const& client, std::string const& what)
{
    return Failure::unknown(errc::protocol_error, client.where() + ": " + what + ": malformed reply");
}

/** Renewals of one statement. */
struct RenewalGroup {
    /// with their indexes in the call
    std::vector<std::pair<std::size_t, RenewRequest>> requests;
    std::shared_ptr<RenewHandler const> handler;

    void answer(std::size_t index, RenewReply reply) const
    {
        RenewAnswer one{index, std::move(reply)};
        (*handler)(std::span(&one, 1));
    }

    /** Answers those that may no longer be written, and completes the statement with the others. */
    bool complete(Statement& statement, Instant now)
    {
        std::vector<std::string> keys;
        std::vector<std::string> owners;
        std::vector<std::string> lives;
        for (auto const& [index, request] : std::exchange(requests, {})) {
            bool const ended = request.claim->mark.ended.load(std::memory_order_acquire);
            if (ended || now >= request.not_after) {
                answer(index, ended ? Failure::not_sent(errc::released, "the lease is over") : Failure::dropped());
                continue;
            }
            requests.emplace_back(index, request);
            keys.push_back(request.claim->key());
            owners.push_back(request.claim->owner);
            lives.push_back(std::to_string(request.lifetime().count()));
        }
        statement.values = {array_of(keys), array_of(owners), array_of(lives)};
        return !requests.empty();
    }
};

/** @param code  of `tenure.renew` */
RenewReply renewed(Client const& client, RenewRequest const& request, std::string_view code, Answer const& answer)
{
    auto const key = request.claim->key();
    if (code == "0")
        return NotOwner{};
    if (code == "-1")
        return Failure::refused(errc::store_refused, client.where() + ": " + key + ": its row is locked");
    if (code != "1")
        return malformed(client, key);
    if (answer.unreplicated)
        return Failure::unknown(errc::not_replicated, client.where() + ": " + key + not_on_standbys);
    return Renewed{request.ttl, answer.since};
}

void send_group(ClientPtr const& client, std::shared_ptr<RenewalGroup> group)
{
    auto query = client->query(renew_sql, {}, {}, Query::Line::renewals);
    for (auto const& [index, request] : group->requests)
        query.not_after = std::max(query.not_after.at(), request.not_after);
    query.complete = [group, runtime = client->runtime()](Query& own) {
        return group->complete(own.statement, runtime->now());
    };
    client->send(std::move(query), [client, group](Outcome&& outcome) {
        auto const* const answer = std::get_if<Answer>(&outcome);
        // {1,0,-1}
        auto codes = answer == nullptr ? std::string_view() : answer->result.text(0);
        for (auto const& [index, request] : group->requests) {
            codes.remove_prefix(std::min<std::size_t>(codes.size(), 1));
            auto const code = codes.substr(0, codes.find_first_of(",}"));
            codes.remove_prefix(code.size());
            group->answer(
                index,
                answer == nullptr ? RenewReply(std::get<Failure>(outcome)) : renewed(*client, request, code, *answer));
        }
    });
}

} // namespace

Values values_of(KeyRange const& range, Values const& more)
{
    Values all{
        range.prefix, std::to_string(range.first), std::to_string(range.count), range.numbered ? "true" : "false"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

store::Request<ClaimReply> claim(ClientPtr client, ClaimRequest request)
{
    auto turn = client->claims().turn(request.not_after);
    auto const place = co_await turn;

    Values const more{
        request.owner, std::to_string(request.lifetime().count()), request.earliest_attempt ? "true" : "false"};
    auto query = client->query(claim_sql, values_of(*request.range, more), request.not_after);
    query.keys = request.range->count;
    auto asking = ask(client, std::move(query));
    auto const answer = co_await asking;

    auto const& result = answer.result;
    auto const code = result.text(0);
    if (code == "B") {
        Busy busy;
        auto const earliest = result.number(3);
        busy.never_frees = earliest == -1;
        if (earliest && *earliest >= 0)
            busy.earliest_expiry = std::chrono::milliseconds(*earliest);
        co_return busy;
    }
    auto const index = result.number(1);
    auto const token = result.number(2);
    if (code != "G" || !index || !token)
        co_return malformed(*client, request.range->describe());
    Granted grant;
    grant.index = static_cast<std::uint32_t>(*index);
    grant.fencing_token = request.fencing ? static_cast<std::uint64_t>(*token) : 0;
    grant.ttl = request.ttl;
    grant.since = answer.since;
    if (answer.unreplicated)
        co_return Unconfirmed{
            std::move(grant), errc::not_replicated,
            client->where() + ": " + request.range->key(grant.index) + not_on_standbys};
    co_return grant;
}

void renew(ClientPtr const& client, std::vector<RenewRequest> requests, RenewHandler handler)
{
    auto const shared = std::make_shared<RenewHandler const>(std::move(handler));
    for (std::size_t begin = 0; begin < requests.size(); begin += most_renewals) {
        auto const group = std::make_shared<RenewalGroup>();
        group->handler = shared;
        for (std::size_t i = begin; i < std::min(requests.size(), begin + most_renewals); ++i)
            group->requests.emplace_back(i, std::move(requests[i]));
        send_group(client, group);
    }
}

} // namespace tenure::postgresql
