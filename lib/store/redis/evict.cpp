// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "inspect.hpp"
#include "store/redis/scripts/script.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

EvictReply read_reply(Node& node, Outcome&& outcome, std::string const& key)
{
    if (outcome.delivery != Delivery::answered)
        return undelivered(std::move(outcome));
    if (outcome.reply.is_error())
        return node.refuse(outcome.reply, key);
    if (!outcome.reply.is_integer() || outcome.reply.as_integer() < -2)
        return nonsense(node, key);
    auto const left = outcome.reply.as_integer();
    if (left == -2)
        return NotOwner{};
    if (left == -1)
        return Failure::refused(
            errc::key_conflict,
            node.where() + ": " + key +
                ": has no ttl, so it is not a lease and would never free; delete it by hand if nobody uses it",
            true);
    return Evicted{std::chrono::milliseconds(left)};
}

} // namespace

void evict(NodePtr const& node, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    auto key = request.range->key(request.index);
    ScriptCall call;
    call.script = &scripts::evict();
    call.keys = encode_keys(*request.range, request.index, 1);
    call.values.add(request.owner).add("evicted/" + request.evicted_by);
    call.not_after = request.not_after;
    run_script(
        node->route(), std::move(call),
        [node, key = std::move(key), handler = std::move(handler)](Outcome outcome) mutable {
            std::move(handler)(read_reply(*node, std::move(outcome), key));
        });
}

} // namespace tenure::redis
