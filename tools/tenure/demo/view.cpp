// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/view.hpp"

#include "keys/holder.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"
#include "output/time_text.hpp"

#include <algorithm>
#include <iostream>
#include <map>
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
    case DemoBoard::Doing::paused:
        return {"is paused", Style::bad};
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

constexpr std::size_t gap_between_tables = 6;
/// width before an event's text: six columns of time, and two blanks
constexpr std::size_t time_width = 8;
/// old events go before the tables lose rows, but not all
constexpr std::size_t least_events = 4;

/** One table above the other, in as many rows as there are. */
std::vector<std::string> stacked(DemoPicture const& picture, std::size_t rows)
{
    auto const all = picture.slots.size() + 1 + picture.workers.size();
    // a low screen is shared: each table gets half, and what the other leaves
    auto const half = (std::max<std::size_t>(rows, 1) - 1) / 2;
    auto const for_slots =
        all <= rows ? picture.slots.size() : std::max(half, rows - std::min(rows, 1 + picture.workers.size()));
    auto result = fitted(picture.slots, for_slots);
    result.emplace_back();
    auto const workers = fitted(picture.workers, rows - std::min(rows, result.size()));
    result.insert(result.end(), workers.begin(), workers.end());
    return result;
}

} // namespace

std::unique_ptr<DemoView>
make_demo_screen(boost::asio::any_io_executor const& executor, DemoSettings const& settings, DemoBoard& board)
{
    return std::make_unique<DemoScreen>(executor, settings, board);
}

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

std::vector<std::string> lines_of_events(std::vector<std::string> const& events, std::size_t width)
{
    std::vector<std::string> result;
    for (auto const& event : events) {
        auto const time = event.substr(0, std::min(event.size(), time_width));
        auto const text = wrapped(event.substr(time.size()), std::max(width, 2 * time_width) - time_width);
        for (auto const& line : text)
            result.push_back((&line == &text.front() ? time : std::string(time_width, ' ')) + line);
    }
    return result;
}

std::vector<std::string> arranged(DemoPicture const& picture, ScreenSize size)
{
    auto const events = lines_of_events(picture.events, size.columns);
    bool const wide = widest(picture.slots) + gap_between_tables + widest(picture.workers) <= size.columns;
    auto const tables_want = wide ? std::max(picture.slots.size(), picture.workers.size())
                                  : picture.slots.size() + 1 + picture.workers.size();
    // the title and two empty lines
    auto const rows = std::max<std::size_t>(size.rows, 3) - 3;
    auto const for_events =
        std::min(events.size(), std::max(rows - std::min(rows, tables_want), std::min(least_events, rows / 2)));
    auto const for_tables = rows - for_events;
    std::vector<std::string> lines = {picture.title, ""};
    auto tables =
        wide ? beside(fitted(picture.slots, for_tables), fitted(picture.workers, for_tables), gap_between_tables)
             : stacked(picture, for_tables);
    lines.insert(lines.end(), tables.begin(), tables.end());
    lines.emplace_back();
    lines.insert(lines.end(), events.end() - static_cast<std::ptrdiff_t>(for_events), events.end());
    return fitted(std::move(lines), size.rows);
}

} // namespace tenure::tool
