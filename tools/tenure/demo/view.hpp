// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "demo/board.hpp"
#include "demo/crew.hpp"
#include "output/live_screen.hpp"

#include <tenure/backend/backend.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tenure::tool
{

/** Where the demo shows what happens. */
class DemoView
{
public:
    DemoView() = default;
    DemoView(DemoView const&) = delete;
    DemoView& operator=(DemoView const&) = delete;
    virtual ~DemoView() = default;

    /** A part of the story. */
    virtual void event(std::string text) = 0;
    /** How the store and the board look now; called several times a second. */
    virtual void look(std::vector<KeyState> const& states) = 0;
    /** The demo is over: from here on standard output is free for the summary. */
    virtual void end() {}
};

/** Events, a line for each as it happens: for pipes and files. A change of a slot's holder is one too. */
[[nodiscard]] std::unique_ptr<DemoView> make_demo_events();

/** A live screen with slots, workers and the newest events. All events are printed when it ends.
 *  @param board  outlives the view, like the settings */
[[nodiscard]] std::unique_ptr<DemoView>
make_demo_screen(boost::asio::any_io_executor const& executor, DemoSettings const& settings, DemoBoard& board);

/** Time since the beginning, as the demo's lines begin with it. */
class DemoClock
{
public:
    [[nodiscard]] std::chrono::milliseconds elapsed() const;
    /** In six columns. */
    [[nodiscard]] std::string text() const;

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/** The data of one picture of the demo. */
struct DemoPicture {
    std::string title;
    /// tables, the headings first
    std::vector<std::string> slots;
    std::vector<std::string> workers;
    /// the newest last
    std::vector<std::string> events;
};

/** Events broken into lines of this width, each line behind the column of the time. */
[[nodiscard]] std::vector<std::string> lines_of_events(std::vector<std::string> const& events, std::size_t width);

/** The picture as lines that fit the screen. The tables stand side by side if it is wide enough. If it is too low, old
 * events go first, and the tables say how many rows they leave out. */
[[nodiscard]] std::vector<std::string> arranged(DemoPicture const& picture, ScreenSize size);

} // namespace tenure::tool
