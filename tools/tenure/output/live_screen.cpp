// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/live_screen.hpp"

#include "output/style.hpp"
#include "output/text_layout.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

namespace tenure::tool
{

namespace
{

// alternate screen, no cursor, no wrapping of lines that are too long; and back
constexpr std::string_view to_live = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view to_normal = "\x1b[?7h\x1b[?25h\x1b[?1049l";

void put(std::string_view text) noexcept
{
    while (!text.empty()) {
        auto const written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written <= 0)
            return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace

bool LiveScreen::possible() noexcept
{
    return is_capable_terminal(STDOUT_FILENO);
}

LiveScreen::LiveScreen(boost::asio::any_io_executor const& executor, std::function<void()> redraw)
    : redraw_(std::move(redraw))
    , signals_(executor, SIGWINCH, SIGTSTP, SIGCONT)
{
    put(to_live);
    wait_for_signal();
}

LiveScreen::~LiveScreen()
{
    put(to_normal);
}

ScreenSize LiveScreen::size() const noexcept
{
    ::winsize window = {};
    ScreenSize result;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0)
        return result;
    result.rows = window.ws_row;
    result.columns = window.ws_col;
    return result;
}

void LiveScreen::show(std::vector<std::string> const& lines) const
{
    auto const [rows, columns] = size();
    std::string picture = "\x1b[H";
    auto const shown = fitted(lines, rows);
    for (std::size_t row = 0; row < shown.size(); ++row) {
        auto const line = cropped(shown[row], columns);
        picture += (row == 0 ? "" : "\r\n") + line;
        // behind a full line, the cursor still stands on its last character
        if (visible_width(line) < columns)
            picture += "\x1b[K";
    }
    // the lower part of the last picture, which does not fit on a full screen
    if (shown.size() < rows)
        picture += "\r\n\x1b[J";
    put(picture);
}

void LiveScreen::wait_for_signal()
{
    signals_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code const& error, int signal) {
        if (error || alive.expired())
            return;
        if (signal == SIGTSTP) {
            put(to_normal);
            ::raise(SIGSTOP);
            continued_ = true;
            put(to_live);
        }
        // stopped by another signal: a shell has written on this screen
        if (signal == SIGCONT && !std::exchange(continued_, false))
            put(to_live);
        redraw_();
        wait_for_signal();
    });
}

} // namespace tenure::tool
