// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "accept_token.hpp"

#include "claim_reply.hpp"
#include "key_names.hpp"
#include "store/redis/scripts/script.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

TokenReply read_reply(Node& node, Outcome&& outcome, std::string const& key, std::uint64_t proposed)
{
    if (outcome.delivery != Delivery::answered)
        return undelivered(std::move(outcome));
    if (outcome.reply.is_error())
        return node.refuse(outcome.reply, key);
    auto const word = outcome.reply.as_string();
    if (outcome.reply.is_string() && word == "accepted")
        return TokenAccepted{};
    if (outcome.reply.is_string() && word == "not owner")
        return NotOwner{};
    auto const last = read_token(outcome.reply);
    if (!last || *last < proposed)
        return nonsense(node, key);
    return TokenTooLow{*last};
}

} // namespace

void accept_token(NodePtr const& node, TokenRequest request, ReplyHandler<TokenReply> handler)
{
    auto key = request.range->key(request.index);
    auto const affixes = fence_affixes(*request.range);
    ScriptCall call;
    call.script = &scripts::accept_token();
    call.keys = encode_keys(*request.range, request.index, 1);
    call.values.add(request.owner).add(request.token).add(affixes.before).add(affixes.after);
    call.not_after = request.not_after;
    run_script(
        node->route(), std::move(call),
        [node, key = std::move(key), proposed = request.token, handler = std::move(handler)](Outcome outcome) mutable {
            std::move(handler)(read_reply(*node, std::move(outcome), key, proposed));
        });
}

} // namespace tenure::redis
