// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/way.hpp"
#include "store/redis/scripts/script.hpp"

#include <tenure/backend/runtime.hpp>

#include <memory>

namespace tenure::redis
{

/** `run_script` for what must not wait for a node that hangs: if no answer has come by `limit`, the handler is called
 * with an unknown outcome, and what comes later is dropped. */
void run_script_within(
    std::shared_ptr<Runtime> const& runtime, std::shared_ptr<Way> const& way, ScriptCall call, Instant limit,
    OutcomeHandler handler);

} // namespace tenure::redis
