// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::tool
{

struct ScreenSize {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

/** The terminal on standard output as a picture that is drawn over and over. It is the terminal's alternate screen:
 * what stood on the normal one is there again afterwards, and no picture leaves a line behind.
 *
 *  It follows the size of the terminal, and gives the normal screen back while the program is suspended.
 */
class LiveScreen
{
public:
    /** True if standard output is a terminal that can show it. */
    [[nodiscard]] static bool possible() noexcept;

    /** @param redraw  called on the executor when the size has changed, and when a suspended program continues */
    LiveScreen(boost::asio::any_io_executor const& executor, std::function<void()> redraw);
    LiveScreen(LiveScreen const&) = delete;
    LiveScreen& operator=(LiveScreen const&) = delete;
    /** Gives the normal screen back. */
    ~LiveScreen();

    /** The size that the terminal has now. */
    [[nodiscard]] ScreenSize size() const noexcept;

    /** Shows these lines, as far as they fit, and nothing else. */
    void show(std::vector<std::string> const& lines) const;

private:
    void wait_for_signal();

    std::function<void()> redraw_;
    boost::asio::signal_set signals_;
    /// a signal may be on its way to this object when it goes
    std::shared_ptr<int> alive_ = std::make_shared<int>();
    /// the signal to continue that follows a suspension has been dealt with
    bool continued_ = false;
};

} // namespace tenure::tool
