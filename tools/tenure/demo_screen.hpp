// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "demo_board.hpp"
#include "demo_crew.hpp"

#include <tenure/backend.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace tenure::tool
{

/** What the demo shows: on a terminal one picture that is redrawn in place, elsewhere a picture for each change. */
class DemoScreen
{
public:
    explicit DemoScreen(DemoSettings const& settings);

    void event(std::string text);
    void show(std::vector<KeyState> const& states, DemoBoard& board);
    /** The same without a store's answer: it is away. */
    void show_trouble(std::string const& text);

private:
    [[nodiscard]] std::string picture(std::vector<KeyState> const& states, DemoBoard& board) const;
    [[nodiscard]] std::string slot_table(std::vector<KeyState> const& states) const;
    [[nodiscard]] std::string worker_table(DemoBoard& board) const;
    void draw(std::string const& text);
    [[nodiscard]] std::string elapsed() const;

    DemoSettings const& settings_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    bool terminal_;
    /// the newest last
    std::deque<std::string> events_;
    /// how many lines of the terminal the last picture takes
    std::size_t lines_ = 0;
    /// who held what in the last picture
    std::string last_seen_;
};

} // namespace tenure::tool
