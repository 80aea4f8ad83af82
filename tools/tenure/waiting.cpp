// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "waiting.hpp"

#include "duration.hpp"
#include "holders_text.hpp"
#include "key_look.hpp"
#include "loop.hpp"
#include "store_error.hpp"
#include "table.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure::tool
{

namespace
{

using std::chrono::milliseconds;

/// who holds a key is worth no long wait
constexpr milliseconds look_limit{1'000};
constexpr milliseconds patience{1'000};

std::string remaining(milliseconds limit)
{
    if (limit == milliseconds::max())
        return "; waiting without a limit";
    return "; giving up in " + describe(limit > patience ? limit - patience : milliseconds{0});
}

} // namespace

Wait::Wait(Store store, KeyRangePtr range, milliseconds limit)
    : store_(std::move(store))
    , range_(std::move(range))
    , limit_(limit)
{
}

std::string Wait::describe() const
{
    return (range_->numbered ? "a slot of " : "the lock ") + printable(range_->describe(), 256);
}

asio::awaitable<void> announce(Wait wait, Report report, std::shared_ptr<bool const> over)
{
    co_await pause_for(patience);
    if (*over)
        co_return;
    auto const look = co_await look_at_keys(wait.store(), wait.range(), look_limit);
    if (*over)
        co_return;
    auto const found = look.error ? explain(wait.store(), errc::store_unavailable)
                                  : wait.store().describe() + ": " + describe_holders(*wait.range(), look.states);
    report.say("waiting for " + wait.describe() + " on " + found + remaining(wait.limit()));
}

asio::awaitable<std::string> explain_end(Wait wait)
{
    auto const look = co_await look_at_keys(wait.store(), wait.range(), look_limit);
    auto text = wait.store().describe() + ": " +
                (look.error ? std::string("held by others") : describe_holders(*wait.range(), look.states));
    text += wait.limit() == milliseconds{0}
                ? "; wait for it with --wait"
                : "; not released within " + tool::describe(wait.limit()) + ": wait longer with --wait";
    if (wait.range()->numbered)
        text += ", or give the pool more slots with --size, in every program that uses it";
    co_return text;
}

} // namespace tenure::tool
