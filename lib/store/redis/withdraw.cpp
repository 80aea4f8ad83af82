// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Withdrawal of an owner from a range, page by page.
#include "operations.hpp"

#include "key_names.hpp"
#include "line_keys.hpp"
#include "publish.hpp"
#include "steps.hpp"
#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tenure::redis
{

store::Request<CountedWithdrawReply> withdraw(ServerPtr server, WithdrawRequest request)
{
    CountedWithdrawReply all{Released{}};
    LineKeys line;
    for (std::uint32_t page = 0; page < page_count(*request.range);) {
        bool const notifies = request.notifications && server->may_publish();
        bool const for_redisson = server->is_redisson(*request.range);
        bool const with_line = notifies && !for_redisson && line.declare(*server);
        bool const by_script = (with_line || (for_redisson && notifies)) && server->publishes_in_scripts();
        auto const& script = for_redisson ? redisson::leave() : scripts::withdraw();
        ScriptCall call;
        call.script = &script.for_channels(server->announces_in_shard());
        call.keys = server->ranges().keys(request.range, page);
        if (with_line)
            call.names.add(line_of(*request.range)).add(watched_key_of(*request.range));
        bool const has_message = with_line || (for_redisson && notifies);
        call.values.add(request.owner);
        if (for_redisson && by_script)
            call.values.add(server->channel_of(*request.range));
        else
            call.values.add(has_message ? how_to_publish(*server) : std::string_view());
        if (request.reuse_after > std::chrono::milliseconds{0})
            call.values.add(resting_value(request.owner)).add(request.reuse_after.count());
        call.not_after = request.not_after;
        call.urgency = resp::Urgency::step;
        auto free_page = call_script(server, std::move(call));
        auto const outcome = co_await free_page;
        if (line.may_have_refused(*server, *request.range, outcome))
            continue;
        auto const keys = outcome.succeeded() ? read_withdrawn_keys(outcome.reply) : std::nullopt;
        if (!keys) {
            all.reply = failure_of_release(*server, outcome, request.range->describe());
            break;
        }
        all.freed += keys->count;
        if (has_message)
            follow_up(server, *request.range, keys->notes, 0, by_script);
        else if (keys->count > 0 && notifies)
            publish(server, *request.range, message_for_all);
        ++page;
    }
    co_return std::move(all);
}

} // namespace tenure::redis
