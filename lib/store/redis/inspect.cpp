// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection of a range, page by page.
#include "operations.hpp"

#include "key_names.hpp"
#include "replies.hpp"
#include "steps.hpp"
#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/wire/error_meaning.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenure::redis
{

namespace
{

constexpr std::size_t reply_bytes_per_key = 1200;
// at most 1,024 in one reply
constexpr std::size_t reply_bytes_of_places = 1024 * std::size_t{700};

} // namespace

store::Request<InspectReply> inspect(ServerPtr server, InspectRequest request, bool with_tokens)
{
    auto const& range = request.range;
    std::vector<KeyState> keys;
    keys.reserve(range->count);
    do {
        auto const first = static_cast<std::uint32_t>(keys.size());
        auto const count = std::min(keys_per_inspection, range->count - first);
        ScriptCall call;
        call.script = &scripts::inspect();
        call.keys = encode_keys(*range, first, count);
        if (server->is_redisson(*range)) {
            call.script = &redisson::inspect();
            call.names.add(server->fence_of(*range));
        } else if (with_tokens) {
            // the fence keys follow the keys
            call.names.add(*call.keys);
            call.keys = encode_fence_keys(*range, first, count);
            call.values.add("1");
        }
        call.not_after = request.not_after;
        call.reply_bytes = count * reply_bytes_per_key + reply_bytes_of_places + 1024;
        auto read = call_script(server, std::move(call));
        auto const outcome = co_await read;
        if (with_tokens && outcome.refused() && may_concern_some_keys(outcome.reply.as_string())) {
            // a user without permission for the fence keys sees no tokens
            with_tokens = false;
            continue;
        }
        if (!outcome.succeeded() || !read_key_states(outcome.reply, count, keys))
            co_return failure_of(*server, outcome, range->describe());
    } while (keys.size() < range->count);
    co_return std::move(keys);
}

} // namespace tenure::redis
