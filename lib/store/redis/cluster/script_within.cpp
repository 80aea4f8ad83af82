// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "script_within.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure::redis
{

namespace
{

struct Awaited {
    OutcomeHandler handler;
    Runtime::TimerId timer = 0;
    bool over = false;
};

} // namespace

void run_script_within(
    std::shared_ptr<Runtime> const& runtime, std::shared_ptr<Way> const& way, ScriptCall call, Instant limit,
    OutcomeHandler handler)
{
    auto awaited = std::make_shared<Awaited>();
    awaited->handler = std::move(handler);
    awaited->timer = runtime->call_at(limit, [awaited] {
        awaited->over = true;
        Outcome outcome;
        outcome.delivery = Delivery::unknown;
        outcome.error = errc::store_unavailable;
        std::move(awaited->handler)(std::move(outcome));
    });
    call.not_after = call.not_after.no_later_than(limit);
    run_script(way, std::move(call), [runtime, awaited](Outcome&& outcome) {
        if (std::exchange(awaited->over, true))
            return;
        runtime->cancel(awaited->timer);
        std::move(awaited->handler)(std::move(outcome));
    });
}

} // namespace tenure::redis
