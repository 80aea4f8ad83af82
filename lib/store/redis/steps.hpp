// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Steps of requests to one server, for coroutines.
#pragma once

#include "server_context.hpp"
#include "store/redis/claim/range_cache.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/request.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace tenure::redis
{

/** Executes one command. */
[[nodiscard]] inline store::Step<Outcome> execute(ServerPtr const& server, resp::Command command, Deadline not_after)
{
    return store::Step<Outcome>([channel = server->channel(), command = std::move(command),
                                 not_after = std::move(not_after)](OutcomeHandler handler) mutable {
        channel->execute(std::move(command), std::move(not_after), std::move(handler));
    });
}

/** Makes the call of a script for one key of a range. */
[[nodiscard]] inline ScriptCall
call_for_key(Script const& script, KeyRange const& range, std::uint32_t index, Deadline not_after)
{
    ScriptCall call;
    call.script = &script;
    call.keys = encode_keys(range, index, 1);
    call.not_after = std::move(not_after);
    call.urgency = resp::Urgency::step;
    return call;
}

/** Runs a script, see `run_script`. */
[[nodiscard]] inline store::Step<Outcome> call_script(ServerPtr const& server, ScriptCall call)
{
    return store::Step<Outcome>([channel = server->channel(), call = std::move(call)](OutcomeHandler handler) mutable {
        run_script(channel, std::move(call), std::move(handler));
    });
}

} // namespace tenure::redis
