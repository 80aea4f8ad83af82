// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "demo/board.hpp"
#include "demo/crew.hpp"
#include "demo/view.hpp"
#include "output/table.hpp"

#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

/** The plot of the demo: lets the workers contend, kills one, pauses another if it can, takes a slot away from one, and
 * judges at the end what the board and the store have shown. */
class DemoDirector
{
public:
    /** Everything named here outlives this object. */
    DemoDirector(
        DemoSettings const& settings, Store store, KeyRangePtr range, DemoBoard& board, DemoCrew& crew, DemoView& view);

    /** @return the exit code */
    [[nodiscard]] asio::awaitable<int> run();

    /** Ends the demo early: workers give back what they hold. */
    void stop() noexcept { stopped_ = true; }

private:
    enum class Act { opening, killing, lapsing, pausing, outlasting, waking, contending, evicting, losing, closing };

    [[nodiscard]] asio::awaitable<bool> look();
    [[nodiscard]] asio::awaitable<void> play();
    [[nodiscard]] asio::awaitable<void> evict();
    [[nodiscard]] asio::awaitable<void> dismiss_crew();
    void begin();
    void check_all_released();
    void kill();
    void follow_lapse();
    void pause();
    void follow_pause();
    void follow_loss();
    [[nodiscard]] bool over() const;
    [[nodiscard]] bool everyone_had_a_slot() const;
    [[nodiscard]] std::optional<std::uint32_t> choose_loser();
    [[nodiscard]] int judge();
    void print_verdict(Table const& workers) const;
    void fail(std::string text);
    void enter(Act act);
    [[nodiscard]] std::string holder_name(std::uint32_t slot) const;

    DemoSettings const& settings_;
    Store store_;
    KeyRangePtr range_;
    DemoBoard& board_;
    DemoCrew& crew_;
    DemoView& view_;
    DemoClock clock_;
    Act act_ = Act::opening;
    /// since the beginning of the act
    DemoClock act_clock_;
    /// as the store last showed them
    std::vector<KeyState> states_;
    /// the slot that this act is about
    std::uint32_t slot_ = 0;
    /// the worker that loses its lease
    std::uint32_t loser_ = 0;
    std::uint32_t losses_before_ = 0;
    std::vector<std::string> failures_;
    /// why the last inspection failed; empty if it succeeded
    std::string trouble_;
    bool stopped_ = false;
};

} // namespace tenure::tool
