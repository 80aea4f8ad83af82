// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/crew.hpp"

#include "keys/loop.hpp"

#include <chrono>
#include <memory>
#include <random>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;

constexpr milliseconds between_checks{20};

/** Ends a wait for a slot when the board is closed. */
class ClosingWatch : public std::enable_shared_from_this<ClosingWatch>
{
public:
    ClosingWatch(asio::any_io_executor const& executor, DemoBoard& board)
        : board_(board)
        , timer_(executor)
    {
    }

    void start()
    {
        timer_.expires_after(between_checks);
        timer_.async_wait([self = shared_from_this()](error_code error) {
            if (error)
                return;
            if (self->board_.closed())
                self->stop.emit(asio::cancellation_type::terminal);
            self->start();
        });
    }
    void end() { timer_.cancel(); }

    asio::cancellation_signal stop;

private:
    DemoBoard& board_;
    asio::steady_timer timer_;
};

/** Works for a while; ends early if the token is cancelled or the demo is over. */
asio::awaitable<void> take_turn(Slot const& slot, DemoBoard& board, std::uint32_t index, milliseconds duration)
{
    auto& row = board.worker(index);
    auto const token = slot.token();
    auto const end = Clock::now() + duration;
    board.enter(slot.id(), index, slot.fencing_token(), slot.valid_until());
    while (!token.cancelled() && !board.closed() && (Clock::now() < end || row.works_on)) {
        board.stay(slot.id(), slot.valid_until());
        co_await pause_for(between_checks);
    }
    board.leave(slot.id(), index);
    if (token.cancelled()) {
        row.works_on = false;
        ++row.losses;
    }
}

} // namespace

asio::awaitable<void> work_for_demo(SlotPool pool, DemoBoard& board, std::uint32_t index)
{
    auto const watch = std::make_shared<ClosingWatch>(pool.get_executor(), board);
    watch->start();
    std::minstd_rand random(index + 1);
    while (!board.closed()) {
        board.worker(index).doing = DemoBoard::Doing::waiting;
        auto result =
            co_await pool.async_acquire(AcquireOptions{milliseconds::max()}, cancelled_by(watch->stop.slot()));
        if (std::get<0>(result)) {
            // the store may come back; the pause keeps this from becoming a storm
            co_await pause_for(milliseconds{200});
            continue;
        }
        auto slot = std::move(std::get<1>(result));
        co_await take_turn(slot, board, index, milliseconds{300 + random() % 600});
        co_await slot.async_release(as_result);
        co_await pause_for(milliseconds{50 + random() % 100});
    }
    board.worker(index).doing = DemoBoard::Doing::stopped;
    watch->end();
}

} // namespace tenure::tool
