// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "watch.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

using namespace std::chrono_literals;

/// how long after the first hint the others are awaited
constexpr auto hint_grace = 5ms;

class QuorumWatch final : public Watch
{
public:
    QuorumWatch(QuorumPtr quorum, std::function<void(WatchEvent)> handler)
        : state_(std::make_shared<State>(std::move(quorum), std::move(handler)))
    {
    }

    QuorumWatch(QuorumWatch const&) = delete;
    QuorumWatch& operator=(QuorumWatch const&) = delete;

    ~QuorumWatch() override
    {
        state_->handler = nullptr;
        state_->quorum->runtime().cancel(state_->timer);
    }

    void start(KeyRangePtr const& range)
    {
        for (std::size_t node = 0; node < state_->quorum->size(); ++node)
            watches_.push_back(state_->quorum->nodes()[node]->watch(
                range, WatchAs::observer, [state = state_, node](WatchEvent event) { state->heard(node, event); }));
    }

private:
    struct State : std::enable_shared_from_this<State> {
        State(QuorumPtr of, std::function<void(WatchEvent)> tell)
            : quorum(std::move(of))
            , handler(std::move(tell))
            , last(quorum->size())
            , hinted(quorum->size())
        {
        }

        void heard(std::size_t node, WatchEvent event)
        {
            // the servers keep no line for the quorum: a key may be free for any of its waiters
            if (event == WatchEvent::hint || event == WatchEvent::our_turn || event == WatchEvent::others_turn) {
                hint(node);
                return;
            }
            last[node] = event;
            auto const in_force = count(WatchEvent::in_force);
            if (in_force >= quorum->majority() && told != WatchEvent::in_force)
                tell(WatchEvent::in_force);
            else if (in_force < quorum->majority() && told == WatchEvent::in_force)
                tell(WatchEvent::interrupted);
            else if (count(WatchEvent::unavailable) >= quorum->veto() && told != WatchEvent::unavailable)
                tell(WatchEvent::unavailable);
        }

        [[nodiscard]] std::size_t count(WatchEvent event) const
        {
            return static_cast<std::size_t>(std::ranges::count(last, std::optional(event)));
        }

        void tell(WatchEvent event)
        {
            told = event;
            // a copy: it may end this watch
            if (auto const call = handler)
                call(event);
        }

        void hint(std::size_t node)
        {
            hinted[node] = true;
            if (static_cast<std::size_t>(std::ranges::count(hinted, true)) >= quorum->majority())
                pass_on();
            else if (timer == 0)
                timer = quorum->runtime().call_at(quorum->runtime().now() + hint_grace, [weak = weak_from_this()] {
                    if (auto const self = weak.lock()) {
                        self->timer = 0;
                        self->pass_on();
                    }
                });
        }

        void pass_on()
        {
            quorum->runtime().cancel(std::exchange(timer, 0));
            hinted.assign(hinted.size(), false);
            if (auto const call = handler)
                call(WatchEvent::hint);
        }

        QuorumPtr quorum;
        /// empty once the watch was destroyed
        std::function<void(WatchEvent)> handler;
        /// what each node said last of its subscription
        std::vector<std::optional<WatchEvent>> last;
        std::optional<WatchEvent> told;
        /// nodes that hinted since the last hint was passed on
        std::vector<bool> hinted;
        Runtime::TimerId timer = 0;
    };

    std::shared_ptr<State> state_;
    std::vector<std::unique_ptr<Watch>> watches_;
};

} // namespace

std::unique_ptr<Watch> watch(QuorumPtr const& quorum, KeyRangePtr const& range, std::function<void(WatchEvent)> handler)
{
    auto made = std::make_unique<QuorumWatch>(quorum, std::move(handler));
    made->start(range);
    return made;
}

} // namespace tenure::redlock
