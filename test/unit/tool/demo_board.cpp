// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/board.hpp"

#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

using namespace std::chrono_literals;
using tenure::Clock;
using tenure::tool::DemoBoard;

TEST_CASE("workers that take turns under a slot do not collide on the board", "[tool]")
{
    DemoBoard board;
    board.enter(1, 0, 10, Clock::now() + 1h);
    board.leave(1, 0);
    board.enter(1, 1, 11, Clock::now() + 1h);
    board.enter(0, 2, 10, Clock::now() + 1h);
    CHECK(board.collisions() == 0);
    CHECK(board.disorders() == 0);
    CHECK(board.worker(1).slots_had == 2);
    CHECK(board.worker(2).slots_had == 1);
}

TEST_CASE("the board sees a slot that is held by two workers", "[tool]")
{
    DemoBoard board;
    board.enter(1, 0, 10, Clock::now() + 1h);
    board.enter(1, 1, 11, Clock::now() + 1h);
    CHECK(board.collisions() == 1);
}

TEST_CASE("the board counts a killed worker's slot as held until its lease has ended, and no longer", "[tool]")
{
    DemoBoard board;
    board.enter(1, 0, 10, Clock::now() + 1h);
    board.stay(1, Clock::now() - 1ms);
    board.enter(1, 1, 11, Clock::now() + 1h);
    CHECK(board.collisions() == 0);
    // the one that was thought dead shows up again
    board.leave(1, 0);
    CHECK(board.collisions() == 1);
}

TEST_CASE("a worker that was paused may find another one in its slot, after its lease has ended", "[tool]")
{
    DemoBoard board;
    board.enter(1, 0, 10, Clock::now() - 1ms);
    board.worker(0).doing = DemoBoard::Doing::paused;
    board.enter(1, 1, 11, Clock::now() + 1h);
    board.leave(1, 0);
    CHECK(board.collisions() == 0);
    CHECK(board.worker(0).doing == DemoBoard::Doing::waiting);
}

TEST_CASE("the board sees a fencing token that does not grow", "[tool]")
{
    DemoBoard board;
    board.enter(1, 0, 10, Clock::now() + 1h);
    board.leave(1, 0);
    board.enter(1, 1, 10, Clock::now() + 1h);
    CHECK(board.disorders() == 1);
}

TEST_CASE("two processes that share the descriptor share the board", "[tool]")
{
    DemoBoard board;
    DemoBoard other(::dup(board.descriptor()));
    other.enter(1, 0, 10, Clock::now() + 1h);
    board.enter(1, 1, 11, Clock::now() + 1h);
    CHECK(other.collisions() == 1);
    board.close();
    CHECK(other.closed());
}
