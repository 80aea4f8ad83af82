// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Readiness, inspection and listing on PostgreSQL.
#include "operations.hpp"

#include <store/ended_claim.hpp>
#include <store/not_written.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>

namespace tenure::postgresql
{

namespace
{

constexpr std::uint32_t page = 4096;

/** @param row  of `tenure.look` */
KeyState state_of(Result const& rows, int row, std::uint32_t index)
{
    KeyState state;
    state.index = index;
    state.fencing_token = static_cast<std::uint64_t>(rows.number(2, row).value_or(0));
    auto const left = rows.number(3, row).value_or(0);
    if (left == 0)
        return state;
    auto const ended = read_ended_claim(rows.text(1, row));
    auto const owner = ended ? ended->last_owner : rows.text(1, row);
    state.kind = ended ? ended->kind : left < 0 ? KeyState::Kind::foreign : KeyState::Kind::held;
    state.owner = owner.substr(0, KeyState::longest_owner);
    if (left > 0)
        state.remaining = std::chrono::milliseconds(left);
    if (state.kind == KeyState::Kind::held)
        state.held_for = std::chrono::milliseconds(rows.number(4, row).value_or(0));
    return state;
}

} // namespace

store::Request<ReadyReply> ready(ClientPtr client, Deadline not_after)
{
    auto query = client->query(
        "SELECT count(*) FILTER (WHERE NOT has_function_privilege(p.oid, 'EXECUTE')), min(current_user) "
        "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 "
        "AND p.proname IN ('claim', 'renew', 'release', 'withdraw')",
        {client->config()->schema}, std::move(not_after));
    auto asking = ask(client, std::move(query));
    asking.on_failure(not_written);
    auto const answer = co_await asking;

    if (answer.result.number(0) == 0)
        co_return Ready{};
    co_return Failure::refused(
        errc::permission_denied,
        client->where() + ": user " + std::string(answer.result.text(1)) + " may not use the schema " +
            client->config()->schema + "; let its owner run: tenure init URL --role NAME",
        true);
}

store::Request<InspectReply> inspect(ClientPtr client, InspectRequest request)
{
    auto const& range = request.range;
    std::vector<KeyState> states(range->count);
    for (std::uint32_t i = 0; i < range->count; ++i)
        states[i].index = i;
    for (std::uint32_t begin = 0; begin < range->count; begin += page) {
        KeyRange part = *range;
        part.first += begin;
        part.count = std::min(page, range->count - begin);
        auto query = client->query("SELECT * FROM tenure.look($1, $2, $3, $4)", values_of(part), request.not_after);
        query.keys = part.count;
        auto asking = ask(client, std::move(query));
        asking.on_failure(not_written);
        auto const answer = co_await asking;
        for (int row = 0; row < answer.result.rows(); ++row) {
            auto const index = answer.result.number(0, row).value_or(-1) - range->first;
            if (index >= 0 && index < range->count)
                states[static_cast<std::size_t>(index)] =
                    state_of(answer.result, row, static_cast<std::uint32_t>(index));
        }
    }
    co_return std::move(states);
}

store::Request<ListReply> list(ClientPtr client, ListRequest request)
{
    KeyList list;
    for (std::string after;;) {
        auto query = client->query(
            "SELECT * FROM tenure.list($1, $2, $3)", {request.prefix, after, std::to_string(page)}, request.not_after);
        query.keys = page;
        auto asking = ask(client, std::move(query));
        asking.on_failure(not_written);
        auto const answer = co_await asking;
        auto const& rows = answer.result;
        for (int row = 0; row < rows.rows(); ++row) {
            if (!rows.text(0, row).starts_with(request.prefix))
                co_return std::move(list);
            if (rows.text(1, row) == "t")
                list.keys.emplace_back(rows.text(0, row));
        }
        if (rows.rows() < static_cast<int>(page))
            co_return std::move(list);
        after = rows.text(0, rows.rows() - 1);
        list.more = list.keys.size() >= request.most || request.not_after.over(client->runtime()->now());
        if (list.more)
            co_return std::move(list);
    }
}

} // namespace tenure::postgresql
