// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claim of one owner over its whole range by scripts, page by page.
#include "claim.hpp"

#include "store/redis/line_keys.hpp"
#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/steps.hpp"

#include <store/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

/** Some of the keys of a range. */
struct RangePart {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/** @param size  of all parts but the last one */
RangePart part_of(KeyRange const& range, std::uint32_t number, std::uint32_t size)
{
    auto const first = number * size;
    return {first, std::min(size, range.count - first)};
}

/** Counts the existing keys of each part of the range, by commands that cost the server half the time of a script over
 *  the same keys. */
store::Step<std::vector<Outcome>>
count_in_parts(ServerPtr const& server, ClaimRequest const& request, resp::Urgency urgency)
{
    constexpr auto part_size = RangeCache::part_size;
    auto const parts = (request.range->count + part_size - 1) / part_size;
    auto count = [server, &request, urgency, parts](std::size_t number, OutcomeHandler handler) {
        auto const keys = server->ranges().part(request.range, static_cast<std::uint32_t>(number));
        resp::Command command("EXISTS");
        command.reserve(keys->bytes().size() + 16);
        command.add(*keys).set_urgency(urgency);
        if (number + 1 < parts)
            command.leave_with_next();
        server->channel()->execute(std::move(command), request.not_after, std::move(handler));
    };
    return store::all_of<Outcome>(parts, std::move(count));
}

/** The first part with a free key. That is a hint: the claim checks again. */
std::optional<RangePart> first_gap(ServerContext& server, KeyRange const& range, std::vector<Outcome> const& counts)
{
    std::optional<RangePart> gap;
    for (std::uint32_t number = 0; number < counts.size(); ++number) {
        if (!counts[number].succeeded())
            continue;
        auto const& reply = counts[number].reply;
        auto const part = part_of(range, number, RangeCache::part_size);
        if (!reply.is_integer() || reply.as_integer() < 0)
            server.channel()->invalidate("a malformed reply");
        else if (!gap && reply.as_integer() < part.count)
            gap = part;
    }
    return gap;
}

Script const& script_for(ServerContext const& server, ClaimRequest const& request, bool searching)
{
    if (server.is_redisson(*request.range))
        return redisson::claim();
    if (searching)
        return scripts::find_own();
    bool const finds_own = request.earliest_attempt && page_count(*request.range) == 1;
    if (server.delays_after_failover())
        return finds_own ? scripts::own_or_first_free_after_failover() : scripts::first_free_after_failover();
    return finds_own ? scripts::own_or_first_free() : scripts::first_free();
}

/** @param claim   without its handler. Its place is kept until the answer
 *  @param survey  a busy answer shall include the first expiry and the number of foreign keys */
store::Request<ClaimReply> claim_page_by_page(ServerPtr server, PendingClaim claim, bool survey)
{
    auto const& request = claim.request;
    auto const& range = request.range;
    auto const pages = page_count(*range);
    // tries only these keys of the single page first
    std::optional<RangePart> gap;
    if (!request.earliest_attempt && server->ranges().is_worth_a_gap_search(range)) {
        auto count = count_in_parts(server, request, std::exchange(claim.urgency, resp::Urgency::step));
        auto const counts = co_await count;
        gap = first_gap(*server, *range, counts);
    }
    // A claim over several pages looks for the owner on all pages before it takes a key. On a single page the script
    // does both in one step.
    bool searching = request.earliest_attempt && pages > 1;
    LineKeys line;
    Survey seen;
    for (std::uint32_t page = 0; page < pages;) {
        bool const with_line = request.waits != Waits::no && !server->is_redisson(*range) && line.declare(*server);
        bool const may_close = server->delays_after_failover() && !searching;
        auto const& script = script_for(*server, request, searching);
        auto call = claim_call(*server, script, request, survey, with_line, {}, may_close);
        call.keys = gap ? encode_keys(*range, gap->first, gap->count) : server->ranges().keys(range, page);
        call.urgency = std::exchange(claim.urgency, resp::Urgency::step);
        auto run = call_script(server, std::move(call));
        auto const outcome = co_await run;
        if (line.may_have_refused(*server, *range, outcome))
            continue;
        if (!outcome.succeeded())
            co_return failure_of_claim(*server, outcome, *range);
        auto const part = gap.value_or(part_of(*range, page, max_keys_per_call));
        auto const reply = read_page_reply(outcome.reply, part.count, request.fencing);
        if (!reply || (!may_close && std::holds_alternative<PageClosed>(*reply)))
            co_return malformed_reply(*server, range->describe());
        if (auto const* const grant = std::get_if<PageGrant>(&*reply)) {
            auto const index = part.first + grant->index;
            server->ranges().note_first_free(range, index);
            Granted granted{index, grant->token, request.ttl, outcome.since, nullptr};
            co_return confirmed(*server, *range, std::move(granted), outcome);
        }
        if (auto const* const closed = std::get_if<PageClosed>(&*reply))
            co_return closed_reply(*server, *closed);
        if (std::exchange(gap, std::nullopt))
            continue; // another claim was faster: tries the whole range in one step
        auto const& held = std::get<PageHeld>(*reply);
        note_place(*server, *range, held);
        if (!searching)
            add(seen, held);
        if (++page == pages && std::exchange(searching, false))
            page = 0;
    }
    server->ranges().note_first_free(range, std::nullopt);
    auto const surveyed = survey ? std::optional(seen) : std::nullopt;
    co_return busy_reply(server->ranges(), range, server->runtime().now(), surveyed);
}

/** Reads the state of a held key, for a claim that does not wait.
 *  @param claim  as above */
store::Request<ClaimReply> survey_held_key(ServerPtr server, PendingClaim claim)
{
    auto const& range = claim.request.range;
    auto run = call_script(server, call_for_key(scripts::survey(), *range, 0, claim.request.not_after));
    auto const outcome = co_await run;
    if (!outcome.succeeded())
        co_return Busy{};
    auto const reply = read_page_reply(outcome.reply, 1, false);
    auto const* const held = reply ? std::get_if<PageHeld>(&*reply) : nullptr;
    if (held == nullptr)
        co_return malformed_reply(*server, range->describe());
    Survey seen;
    add(seen, *held);
    co_return busy_reply(server->ranges(), range, server->runtime().now(), seen);
}

} // namespace

void claim_by_page(ServerPtr const& server, PendingClaim&& claim)
{
    bool const survey = survey_is_due(server->ranges(), claim.request, server->runtime().now());
    auto handler = std::move(claim.handler);
    claim_page_by_page(server, std::move(claim), survey).start(std::move(handler));
}

void claim_held_key(ServerPtr const& server, PendingClaim&& claim)
{
    claim.urgency = resp::Urgency::step;
    auto handler = std::move(claim.handler);
    auto steps = claim.request.waits == Waits::no ? survey_held_key(server, std::move(claim))
                                                  : claim_page_by_page(server, std::move(claim), true);
    std::move(steps).start(std::move(handler));
}

} // namespace tenure::redis
