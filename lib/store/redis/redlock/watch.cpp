// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watches of a range on a quorum.
#include "operations.hpp"

#include <runtime/timer.hpp>
#include <store/ending_watch.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

using namespace std::chrono_literals;

/// how long hints of other nodes are awaited after the first
constexpr auto hint_grace = 5ms;

/** The events of all nodes, as one watch of the quorum. */
struct QuorumWatch {
    QuorumWatch(QuorumPtr of, WatchHandler notify)
        : quorum(std::move(of))
        , handler(std::move(notify))
        , last(quorum->size())
        , hinted(quorum->size())
        , grace(quorum->runtime())
    {
    }

    void end()
    {
        handler = nullptr;
        grace.cancel();
    }

    void changed(std::size_t node, WatchEvent event)
    {
        last[node] = event;
        auto const in_force = count(WatchEvent::in_force);
        if (in_force >= quorum->majority() && reported != WatchEvent::in_force)
            notify(WatchEvent::in_force);
        else if (in_force < quorum->majority() && reported == WatchEvent::in_force)
            notify(WatchEvent::interrupted);
        else if (count(WatchEvent::unavailable) >= quorum->veto() && reported != WatchEvent::unavailable)
            notify(WatchEvent::unavailable);
    }

    [[nodiscard]] std::size_t count(WatchEvent event) const
    {
        return static_cast<std::size_t>(std::ranges::count(last, std::optional(event)));
    }

    void notify(WatchEvent event)
    {
        reported = event;
        // a copy, because the handler may end this watch
        if (auto const call = handler)
            call(event);
    }

    void pass_on()
    {
        grace.cancel();
        hinted.assign(hinted.size(), false);
        if (auto const call = handler)
            call(WatchEvent::hint);
    }

    QuorumPtr quorum;
    /// empty after the watch was destroyed
    WatchHandler handler;
    /// the last event of each node
    std::vector<std::optional<WatchEvent>> last;
    std::optional<WatchEvent> reported;
    /// nodes that hinted since the last hint was passed on
    std::vector<bool> hinted;
    /// timer until hints are passed on
    Timer grace;
};

void hint(std::shared_ptr<QuorumWatch> const& watch, std::size_t node)
{
    watch->hinted[node] = true;
    if (static_cast<std::size_t>(std::ranges::count(watch->hinted, true)) >= watch->quorum->majority())
        watch->pass_on();
    else if (!watch->grace.pending())
        watch->grace.after(hint_grace, std::weak_ptr(watch), &QuorumWatch::pass_on);
}

void heard(std::shared_ptr<QuorumWatch> const& watch, std::size_t node, WatchEvent event)
{
    // the servers keep no line for the quorum, so a key may be free for any of its waiters
    if (event == WatchEvent::hint || event == WatchEvent::our_turn || event == WatchEvent::others_turn)
        hint(watch, node);
    else
        watch->changed(node, event);
}

} // namespace

std::unique_ptr<Watch> watch(QuorumPtr const& quorum, KeyRangePtr const& range, WatchHandler handler)
{
    auto const all = std::make_shared<QuorumWatch>(quorum, std::move(handler));
    std::vector<std::shared_ptr<Watch>> watches;
    for (std::size_t node = 0; node < quorum->size(); ++node)
        watches.push_back(quorum->nodes()[node]->watch(
            range, WatchAs::observer, [all, node](WatchEvent event) { heard(all, node, event); }));
    return std::make_unique<store::EndingWatch>([all, watches = std::move(watches)] { all->end(); });
}

} // namespace tenure::redlock
