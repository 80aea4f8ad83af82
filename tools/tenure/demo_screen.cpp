// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo_screen.hpp"

#include "duration.hpp"
#include "holder.hpp"
#include "table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace tenure::tool
{

namespace
{

constexpr std::size_t most_events = 8;

std::string doing(DemoBoard::Worker const& worker)
{
    switch (worker.doing.load()) {
    case DemoBoard::Doing::starting:
        return "starts";
    case DemoBoard::Doing::waiting:
        return "waits";
    case DemoBoard::Doing::working:
        return "works under slot " + std::to_string(worker.slot);
    case DemoBoard::Doing::stopped:
        return "has stopped";
    case DemoBoard::Doing::killed:
        break;
    }
    return "was killed";
}

bool can_redraw()
{
    auto const* const kind = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

} // namespace

DemoScreen::DemoScreen(DemoSettings const& settings)
    : settings_(settings)
    , terminal_(can_redraw())
{
}

void DemoScreen::event(std::string text)
{
    auto line = elapsed() + "  " + std::move(text);
    if (!terminal_)
        std::cout << ">> " << line << '\n' << std::flush;
    events_.push_back(std::move(line));
    if (events_.size() > most_events)
        events_.pop_front();
}

void DemoScreen::show(std::vector<KeyState> const& states, DemoBoard& board)
{
    if (terminal_) {
        draw(picture(states, board));
        return;
    }
    std::string seen;
    for (auto const& state : states)
        seen += describe(holder_of(state)) + "\n";
    if (std::exchange(last_seen_, seen) != seen)
        std::cout << picture(states, board) << '\n' << std::flush;
}

void DemoScreen::show_trouble(std::string const& text)
{
    if (std::exchange(last_seen_, text) != text)
        event(text);
}

std::string DemoScreen::picture(std::vector<KeyState> const& states, DemoBoard& board) const
{
    auto result = "[" + elapsed() + "]\n" + slot_table(states);
    if (!terminal_)
        return result;
    result += "\n" + worker_table(board) + "\n";
    for (auto const& event : events_)
        result += event + "\n";
    return result;
}

std::string DemoScreen::slot_table(std::vector<KeyState> const& states) const
{
    Table table({"SLOT", "HOLDER", "FOR", "TTL LEFT", "FENCING TOKEN"});
    for (auto const& state : states) {
        auto const free = state.kind == KeyState::Kind::free;
        table.add(
            {std::to_string(state.index), free ? "(free)" : describe(holder_of(state)),
             state.held_for && !free ? describe(*state.held_for) : "-",
             state.remaining && !free ? describe(*state.remaining) : "-",
             free ? "-" : std::to_string(state.fencing_token)});
    }
    return table.text();
}

std::string DemoScreen::worker_table(DemoBoard& board) const
{
    Table table({"WORKER", "NOW", "TURNS"});
    for (std::uint32_t index = 0; index < settings_.workers; ++index) {
        auto const& worker = board.worker(index);
        table.add({demo_worker_name(index), doing(worker), std::to_string(worker.turns)});
    }
    return table.text();
}

void DemoScreen::draw(std::string const& text)
{
    // back to the first line of the last picture, and everything below it goes
    auto const back = lines_ == 0 ? std::string{} : "\x1b[" + std::to_string(lines_) + "F\x1b[J";
    std::cout << back << text << std::flush;
    lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::string DemoScreen::elapsed() const
{
    auto const time = std::chrono::steady_clock::now() - start_;
    auto text = describe(std::chrono::duration_cast<std::chrono::milliseconds>(time));
    return std::string(std::max<std::size_t>(text.size(), 6) - text.size(), ' ') + text;
}

} // namespace tenure::tool
