// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Withdrawal of an owner from a range, page by page.
#include "operations.hpp"

#include "key_names.hpp"
#include "steps.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

store::Request<CountedWithdrawReply> withdraw(ServerPtr server, WithdrawRequest request)
{
    // empty: no waiter to notify
    auto const stem = request.notifications ? stem_of(*request.range) : std::string();
    CountedWithdrawReply all{Released{}};
    for (std::uint32_t page = 0; page < page_count(*request.range); ++page) {
        ScriptCall call;
        call.script = server->announces_in_shard() ? &scripts::withdraw_in_shard() : &scripts::withdraw();
        call.keys = server->ranges().keys(request.range, page);
        call.values.add(request.owner)
            .add(server->name_in_line())
            .add(server->may_publish() ? std::string_view(stem) : std::string_view());
        if (request.reuse_after > std::chrono::milliseconds{0})
            call.values.add(resting_value(request.owner)).add(request.reuse_after.count());
        call.not_after = request.not_after;
        call.urgency = resp::Urgency::step;
        auto free_page = call_script(server, std::move(call));
        auto const outcome = co_await free_page;
        auto const keys = outcome.succeeded() ? read_withdrawn_keys(outcome.reply) : std::nullopt;
        if (!keys) {
            all.reply = failure_of(*server, outcome, request.range->describe());
            break;
        }
        all.freed += keys->count;
        take_notes(*server, *request.range, keys->notes);
    }
    co_return std::move(all);
}

} // namespace tenure::redis
