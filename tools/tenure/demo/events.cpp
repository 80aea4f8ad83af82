// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/view.hpp"
#include "keys/holder.hpp"
#include "output/duration.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <utility>

namespace tenure::tool
{

namespace
{

std::string slot_event(KeyState const& state)
{
    auto const holder = holder_of(state);
    auto const slot = "slot " + std::to_string(state.index);
    if (holder.kind == Holder::Kind::nobody)
        return slot + " is free";
    if (holder.kind == Holder::Kind::evicted)
        return slot + " is " + describe(holder);
    return slot + " is held by " + describe(holder) +
           (state.fencing_token == 0 ? std::string{} : ", fencing token " + std::to_string(state.fencing_token));
}

class DemoEvents : public DemoView
{
public:
    void event(std::string text) override { std::cout << clock_.text() << "  " << text << '\n' << std::flush; }

    void look(std::vector<KeyState> const& states) override
    {
        for (auto const& state : states) {
            auto text = slot_event(state);
            bool const first = !last_.contains(state.index);
            bool const news = std::exchange(last_[state.index], text) != text;
            // at first all slots are free
            if (news && !(first && holder_of(state).kind == Holder::Kind::nobody))
                event(std::move(text));
        }
    }

private:
    DemoClock clock_;
    /// the last event of each slot
    std::map<std::uint32_t, std::string> last_;
};

} // namespace

std::unique_ptr<DemoView> make_demo_events()
{
    return std::make_unique<DemoEvents>();
}

std::chrono::milliseconds DemoClock::elapsed() const
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_);
}

std::string DemoClock::text() const
{
    auto const text = describe(elapsed());
    return std::string(std::max<std::size_t>(text.size(), 6) - text.size(), ' ') + text;
}

} // namespace tenure::tool
