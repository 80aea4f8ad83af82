// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watches of a range on a quorum.
#include "operations.hpp"

#include <runtime/timer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
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

class QuorumWatch final : public Watch
{
public:
    QuorumWatch(QuorumPtr const& quorum, KeyRangePtr const& range, WatchHandler handler)
        : state_(std::make_shared<State>(quorum, std::move(handler)))
    {
        for (std::size_t node = 0; node < quorum->size(); ++node)
            watches_.push_back(quorum->nodes()[node]->watch(
                range, WatchAs::observer, [state = state_, node](WatchEvent event) { state->heard(node, event); }));
    }

    QuorumWatch(QuorumWatch const&) = delete;
    QuorumWatch& operator=(QuorumWatch const&) = delete;
    ~QuorumWatch() override { state_->end(); }

private:
    struct State : std::enable_shared_from_this<State> {
        State(QuorumPtr of, WatchHandler notify)
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

        void heard(std::size_t node, WatchEvent event)
        {
            // the servers keep no line for the quorum, so a key may be free for any of its waiters
            if (event == WatchEvent::hint || event == WatchEvent::our_turn || event == WatchEvent::others_turn) {
                hint(node);
                return;
            }
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

        void hint(std::size_t node)
        {
            hinted[node] = true;
            if (static_cast<std::size_t>(std::ranges::count(hinted, true)) >= quorum->majority())
                pass_on();
            else if (!grace.pending())
                grace.after(hint_grace, weak_from_this(), &State::pass_on);
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

    std::shared_ptr<State> state_;
    std::vector<std::unique_ptr<Watch>> watches_;
};

} // namespace

std::unique_ptr<Watch> watch(QuorumPtr const& quorum, KeyRangePtr const& range, WatchHandler handler)
{
    return std::make_unique<QuorumWatch>(quorum, range, std::move(handler));
}

} // namespace tenure::redlock
