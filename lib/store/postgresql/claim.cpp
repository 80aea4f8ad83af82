// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims and renewals on PostgreSQL.
#include "operations.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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
    std::vector<RenewRequest> requests;
    /// indexes in the call
    std::vector<std::size_t> indexes;
    std::shared_ptr<RenewHandler const> handler;

    void answer(std::size_t position, RenewReply reply) const
    {
        RenewAnswer one{indexes[position], std::move(reply)};
        (*handler)(std::span(&one, 1));
    }

    /** Removes those that may not be written, and answers them. */
    void drop_ended(Instant now)
    {
        for (std::size_t i = requests.size(); i-- > 0;) {
            bool const ended = requests[i].claim->mark.ended.load(std::memory_order_acquire);
            if (!ended && now < requests[i].not_after)
                continue;
            answer(i, ended ? Failure::not_sent(errc::released, "the lease is over") : Failure::dropped());
            requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(i));
            indexes.erase(indexes.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    [[nodiscard]] std::vector<std::optional<std::string>> values() const
    {
        std::vector<std::string> keys;
        std::vector<std::string> owners;
        std::vector<std::string> lives;
        for (auto const& request : requests) {
            keys.push_back(request.claim->key());
            owners.push_back(request.claim->owner);
            lives.push_back(std::to_string(request.lifetime().count()));
        }
        return {array_of(keys), array_of(owners), array_of(lives)};
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
    Query query;
    query.line = Query::Line::renewals;
    query.statement.text = client->sql("SELECT tenure.renew($1, $2, $3)");
    query.not_after = std::ranges::max(group->requests, {}, &RenewRequest::not_after).not_after;
    query.complete = [group, runtime = client->shared_runtime()](Query& own) {
        group->drop_ended(runtime->now());
        own.statement.values = group->values();
        return !group->requests.empty();
    };
    client->send(std::move(query), [client, group](Outcome&& outcome) {
        auto const* const answer = std::get_if<Answer>(&outcome);
        // {1,0,-1}
        auto codes = answer == nullptr ? std::string_view() : answer->result.text(0);
        for (std::size_t i = 0; i < group->requests.size(); ++i) {
            codes.remove_prefix(std::min<std::size_t>(codes.size(), 1));
            auto const code = codes.substr(0, codes.find_first_of(",}"));
            codes.remove_prefix(code.size());
            group->answer(
                i, answer == nullptr ? RenewReply(std::get<Failure>(outcome))
                                     : renewed(*client, group->requests[i], code, *answer));
        }
    });
}

} // namespace

std::vector<std::optional<std::string>> values_of(KeyRange const& range)
{
    return {range.prefix, std::to_string(range.first), std::to_string(range.count), range.numbered ? "true" : "false"};
}

store::Request<ClaimReply> claim(ClientPtr client, ClaimRequest request)
{
    using Turn = std::variant<store::ClaimWindow::Place, Failure>;
    store::Step<Turn> turn([&](store::ClaimWindow::Turn handler) {
        client->begin_claim(request.not_after, std::move(handler));
    });
    auto const place = co_await turn;

    Query query;
    query.statement.text = client->sql("SELECT * FROM tenure.claim($1, $2, $3, $4, $5, $6, $7)");
    query.statement.values = values_of(*request.range);
    query.statement.values.emplace_back(request.owner);
    query.statement.values.emplace_back(std::to_string(request.lifetime().count()));
    query.statement.values.emplace_back(request.earliest_attempt ? "true" : "false");
    query.not_after = request.not_after;
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
            std::move(grant), errc::not_replicated, client->where() + ": " + request.range->key(grant.index) + not_on_standbys};
    co_return grant;
}

void renew(ClientPtr const& client, std::vector<RenewRequest> requests, RenewHandler handler)
{
    auto const shared = std::make_shared<RenewHandler const>(std::move(handler));
    for (std::size_t begin = 0; begin < requests.size(); begin += most_renewals) {
        auto const group = std::make_shared<RenewalGroup>();
        group->handler = shared;
        for (std::size_t i = begin; i < std::min(requests.size(), begin + most_renewals); ++i) {
            group->indexes.push_back(i);
            group->requests.push_back(std::move(requests[i]));
        }
        send_group(client, group);
    }
}

} // namespace tenure::postgresql
