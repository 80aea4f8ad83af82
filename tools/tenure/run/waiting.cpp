// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/waiting.hpp"

#include "keys/holder.hpp"
#include "keys/key_look.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"
#include "output/time_text.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;

/// limit of the query for the holder, which is not worth a long wait
constexpr milliseconds look_limit{1'000};
constexpr milliseconds patience{1'000};

std::string remaining(milliseconds limit)
{
    if (limit == milliseconds::max())
        return "; waiting without a limit";
    return "; giving up in " + describe(limit > patience ? limit - patience : milliseconds{0});
}

} // namespace

std::string Wait::names() const
{
    std::vector<std::string> names;
    for (auto const& range : ranges)
        names.push_back(printable(range->describe(), 256));
    return listed(names);
}

std::string Wait::describe() const
{
    if (is_for_slot())
        return "a slot of " + names();
    return "the " + std::string(noun) + (ranges.size() == 1 ? " " : "s ") + names();
}

std::string Wait::describe_holders(std::vector<KeyState> const& states) const
{
    return ranges.size() == 1 ? tool::describe_holders(*ranges.front(), states)
                              : tool::describe_holders(ranges, states, store.worker_name());
}

asio::awaitable<void> announce(Wait wait, Report report, std::shared_ptr<bool const> over)
{
    co_await pause_for(patience);
    // a single try is no wait
    if (*over || wait.limit == milliseconds{0})
        co_return;
    auto const look = co_await look_at_keys(wait.store, wait.ranges, look_limit);
    if (*over)
        co_return;
    auto const found = look.error ? explain(wait.store, errc::store_unavailable)
                                  : wait.store.describe() + ": " + wait.describe_holders(look.states);
    report.say("waiting for " + wait.describe() + " on " + found + remaining(wait.limit));
}

asio::awaitable<std::string> explain_end(Wait wait)
{
    auto const look = co_await look_at_keys(wait.store, wait.ranges, look_limit);
    auto text = wait.store.describe() + ": " +
                (look.error ? std::string("held by others") : wait.describe_holders(look.states));
    text += wait.limit == milliseconds{0}
                ? "; wait for it with --wait"
                : "; not released within " + tool::describe(wait.limit) + ": wait longer with --wait";
    if (wait.is_for_slot())
        text += ", or give the pool more slots with --size, in every program that uses it";
    co_return text;
}

} // namespace tenure::tool
