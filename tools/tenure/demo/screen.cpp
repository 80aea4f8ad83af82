// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/picture.hpp"
#include "demo/view.hpp"
#include "keys/holder.hpp"
#include "output/duration.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"

#include <iostream>
#include <optional>
#include <utility>

namespace tenure::tool
{

namespace
{

Table::Cell doing(DemoBoard::Worker const& worker)
{
    switch (worker.doing.load()) {
    case DemoBoard::Doing::starting:
        return {"starts"};
    case DemoBoard::Doing::waiting:
        return {"waits"};
    case DemoBoard::Doing::working:
        return {"works under slot " + std::to_string(worker.slot), Style::good};
    case DemoBoard::Doing::stopped:
        return {"has stopped"};
    case DemoBoard::Doing::killed:
        break;
    }
    return {"was killed", Style::bad};
}

std::vector<std::string> slot_table(std::vector<KeyState> const& states, bool color)
{
    Table table({"SLOT", "HOLDER", "FOR", "TTL LEFT", "FENCING TOKEN"}, color);
    for (auto const& state : states) {
        auto const holder = holder_of(state);
        auto const free = holder.kind == Holder::Kind::nobody;
        table.add(
            {std::to_string(state.index),
             {free ? "free" : describe(holder), style_of(holder)},
             state.held_for && !free ? describe(*state.held_for) : "-",
             state.remaining && !free ? describe(*state.remaining) : "-",
             free ? "-" : std::to_string(state.fencing_token)});
    }
    return table.lines();
}

class DemoScreen : public DemoView
{
public:
    DemoScreen(boost::asio::any_io_executor const& executor, DemoSettings const& settings, DemoBoard& board)
        : settings_(settings)
        , board_(board)
    {
        screen_.emplace(executor, [this] { draw(); });
    }

    void event(std::string text) override
    {
        events_.push_back(clock_.text() + "  " + std::move(text));
        draw();
    }

    void look(std::vector<KeyState> const& states) override
    {
        states_ = states;
        draw();
    }

    void end() override
    {
        auto const width = screen_->size().columns;
        screen_.reset();
        std::cout << indented(lines_of_events(events_, width), 0);
    }

private:
    void draw() const
    {
        if (!screen_)
            return;
        DemoPicture picture;
        picture.title = styled("tenure demo", Style::heading, settings_.color) + ": " + describe(clock_.elapsed()) +
                        " of " + describe(settings_.duration) + ", ^C ends it";
        picture.slots = slot_table(states_, settings_.color);
        picture.workers = worker_table();
        picture.events = events_;
        screen_->show(arranged(picture, screen_->size()));
    }

    [[nodiscard]] std::vector<std::string> worker_table() const
    {
        Table table({"WORKER", "NOW", "TURNS"}, settings_.color);
        for (std::uint32_t index = 0; index < settings_.workers; ++index) {
            auto const& worker = board_.worker(index);
            table.add({demo_worker_name(index), doing(worker), std::to_string(worker.turns)});
        }
        return table.lines();
    }

    DemoSettings const& settings_;
    DemoBoard& board_;
    DemoClock clock_;
    std::vector<KeyState> states_;
    /// all of them, the newest last
    std::vector<std::string> events_;
    /// until the end
    std::optional<LiveScreen> screen_;
};

} // namespace

std::unique_ptr<DemoView>
make_demo_screen(boost::asio::any_io_executor const& executor, DemoSettings const& settings, DemoBoard& board)
{
    return std::make_unique<DemoScreen>(executor, settings, board);
}

} // namespace tenure::tool
