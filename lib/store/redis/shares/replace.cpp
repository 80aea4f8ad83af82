// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Detachment and eviction of places.
#include "places.hpp"

#include "replies.hpp"
#include "scripts.hpp"
#include "store/redis/steps.hpp"

#include <store/ended_claim.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

/** A call of the script that replaces an owner. */
struct Replacement {
    KeyRangePtr range;
    std::string owner;
    std::string new_owner;
    /// as the last argument of the script
    std::string how_long;
    Deadline not_after{};
    bool notifications = true;
};

using Remaining = std::optional<std::chrono::milliseconds>;
/** The remaining time of the place; unset: the owner has none. */
using ReplaceReply = std::variant<Remaining, Failure>;

store::Request<ReplaceReply> replace(ServerPtr server, Replacement what)
{
    PlaceMessage message;
    for (;;) {
        auto const how = message.begin(*server, what.notifications);
        ScriptCall call;
        call.script = &place_scripts::replace().for_server(*server);
        add_place(call, *server, *what.range, how);
        call.values.add_all(how, what.owner, what.new_owner, what.how_long);
        call.not_after = what.not_after;
        call.urgency = resp::Urgency::step;
        auto run = call_script(server, std::move(call));
        auto const outcome = co_await run;
        if (message.may_have_refused(*server, *what.range, outcome))
            continue;
        auto const replaced = outcome.succeeded() ? read_replaced_owner(outcome.reply) : std::nullopt;
        if (!replaced)
            co_return failure_of(*server, outcome, what.range->key(0));
        message.end(server, *what.range, replaced->note);
        co_return replaced->remaining;
    }
}

} // namespace

store::Request<ReleaseReply> detach_place(ServerPtr server, ReleaseRequest request)
{
    auto const& claim = *request.claim;
    auto const keep_for = request.keep_for->count();
    Replacement what{
        claim.range,       claim.owner,          kept_value(claim.owner), keep_for > 0 ? std::to_string(keep_for) : "",
        request.not_after, request.notifications};
    auto run = store::as_step(replace(std::move(server), std::move(what)));
    auto const remaining = co_await run;
    if (remaining)
        co_return Released{};
    co_return NotOwner{};
}

store::Request<EvictReply> evict_place(ServerPtr server, EvictRequest request)
{
    Replacement what{
        std::move(request.range), std::move(request.owner), "evicted/" + request.evicted_by, "evict",
        std::move(request.not_after)};
    auto run = store::as_step(replace(std::move(server), std::move(what)));
    auto const remaining = co_await run;
    if (!remaining)
        co_return NotOwner{};
    co_return Evicted{remaining};
}

} // namespace tenure::redis
