// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "runtime/names.hpp"
#include "system_calls.hpp"

#include <tenure/backend/runtime.hpp>

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <semaphore>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace tenure::test
{

/** Functions that run in turns: each stops before its next point until it is told to go on. */
class Interleaver : Immovable
{
public:
    /** @param step  the function goes on to its next point, or to its end */
    void add(std::function<void()> function);
    void step(std::size_t actor);
    [[nodiscard]] bool over(std::size_t actor) const noexcept { return actors_[actor]->over; }
    [[nodiscard]] bool over() const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return actors_.size(); }
    /** Runs the functions to their ends in a random order.
     *  @param jump  called between two steps, four times
     *  @param look  called after each of these */
    void run(std::mt19937_64& random, std::function<void()> const& jump, std::function<void()> const& look);

private:
    struct Actor {
        std::binary_semaphore go{0};
        std::binary_semaphore stopped{0};
        bool over = false;
        std::jthread thread;
    };
    std::vector<std::unique_ptr<Actor>> actors_;
};

/** A runtime whose clock moves only when the test moves it. Timers never fire. */
class StandingRuntime final : public Runtime
{
public:
    explicit StandingRuntime(std::atomic<std::int64_t> const& clock)
        : clock_(clock)
    {
    }

    [[nodiscard]] Instant now() const noexcept override
    {
        reach(Point::clock);
        return Instant(std::chrono::nanoseconds(clock_.load()));
    }
    [[nodiscard]] std::chrono::sys_seconds wall_clock() const noexcept override { return {}; }
    [[nodiscard]] std::uint64_t random() override { return ++random_; }
    void random_bytes(std::span<std::byte> bytes) override;
    [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept override { return executor_; }
    [[nodiscard]] Strand const& strand() const noexcept override { return strand_; }
    void post(Task) override {}
    TimerId call_at(Instant, Task) override { return 1; }
    void cancel(TimerId) noexcept override {}
    [[nodiscard]] bool logs(LogLevel) const noexcept override { return false; }
    void log(LogLevel, std::string_view) const noexcept override {}

private:
    std::atomic<std::int64_t> const& clock_;
    std::uint64_t random_ = 0;
    asio::io_context context_;
    asio::any_io_executor executor_ = context_.get_executor();
    Strand strand_{executor_};
};

} // namespace tenure::test
